import pytest

from dlsp.context.asked import place


@pytest.mark.parametrize(
    ("before", "owner", "called", "line"),
    [
        ("x = client.", "client", "", "x = client."),
        ("x = client.ge", "client", "", "x = client."),
        ("client?.", "client", "", "client?."),
        ("p->ne", "p", "", "p->"),
        ("Vec::", "Vec", "", "Vec::"),
        ("a.b.c", "b", "", "a.b."),
        ("load(path)[0].", "load", "", "load(path)[0]."),
        ("load(\n    path,\n).", "load", "", ")."),
        ("builder()\n    .", "builder", "", "    ."),
        ("x = get(", "", "get", "x = get("),
        ("x = get(a, b", "", "get", "x = get("),
        ('x = get("a.b", ', "", "get", "x = get("),
        ("get(\n    a,\n    ", "", "get", ""),
        ("get(client.", "client", "get", "get(client."),
        ("get(client.url, ", "", "get", "get("),
        ("a.get(b.c())", "", "", ""),
        ("x = [", "", "", ""),
        ("if x:", "", "", ""),
        ("x = 1.", "", "", "x = 1."),
        ("x = self.", "", "", "x = self."),
        ("return 'text'.", "", "", "return 'text'."),
        ("# see client.", "", "", ""),
        ('s = "get(', "", "", ""),
        ('"""\nfoo.\n"""\nx = y.', "y", "", "x = y."),
        ("", "", "", ""),
    ],
)
def test_what_the_cursor_is_behind(before: str, owner: str, called: str, line: str) -> None:
    found = place(before)
    assert (found.owner, found.called, found.line) == (owner, called, line)
    assert found.row == before.count("\n")
    assert before[len(before) - found.owner_back :].startswith(owner)


def test_it_stays_the_same_while_a_name_or_an_argument_is_typed() -> None:
    assert place("x = client.") == place("x = client.get_al")
    assert place("x = get(") == place("x = get(1, 2")
    assert place("x = get(") != place("x = get(client.")
    assert place("x = get(") != place("\nx = get(")


def test_only_the_last_characters_are_searched() -> None:
    assert place("get(" + "1, " * 2000).called == ""
