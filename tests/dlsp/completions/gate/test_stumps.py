"""Where a text may end."""

import pytest

from dlsp.completions.gate.features import Facts
from dlsp.completions.gate.stumps import without_cut_end, without_stump

FACTS = Facts("    x = ", "")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("if (x) {", "if (x) {\n  y"),
        ("call(", "call(\n    a,\n)"),
        ('print("a', 'print("a'),  # the model ended there
        ("len(body)", "len(body))"),
        ("for x in y:\n    call(", "for x in y:\n    call(\n    a)"),
    ],
)
def test_a_text_that_ends_where_its_line_ends_is_whole(text: str, written: str) -> None:
    assert without_stump(FACTS, text, written) == text


@pytest.mark.parametrize(
    ("text", "written", "kept"),
    [
        ("a + len(body", "a + len(body) + 1", "a + len"),
        ('"accepts', '"accepts" in x', ""),
        ("self.client.get", "self.client.get.x", ""),
        ("self.client", "self.client.get", ""),
        ("f(a) + g(b, c", "f(a) + g(b, c)", "f(a) + g"),
        ("a = 1\nb = g(c", "a = 1\nb = g(c)", "a = 1\nb = g"),
        ("a = 1\n(c", "a = 1\n(c)", "a = 1"),
        ("it's", "it's)", "it's"),
    ],
)
def test_a_text_that_ends_inside_its_line_is_cut_to_what_is_finished(text: str, written: str, kept: str) -> None:
    assert without_stump(FACTS, text, written) == kept


def test_the_rest_of_the_cursors_line_may_finish_it() -> None:
    assert without_stump(Facts("x = f(", "])"), "[len(body", "[len(body)]") == "[len"
    assert without_stump(Facts("x = f(", ")])"), "[len(body", "[len(body)]") == "[len(body"
    assert without_stump(Facts("x = f(", ")"), "len(body", "len(body)") == "len", "it finishes what the line began"
    assert without_stump(Facts('x = "', '"', inside="string"), "some words", 'some words here"') == "some words"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("return self.clie", "return"),
        ("return x + self.client.g", "return x +"),
        ("len(body) + on", "len(body) +"),
        ("a, b = c, d, ", "a, b = c, d,"),
        ("f(a, b", "f"),
        ("x = 1\ny = f(a, b", "x = 1\ny = f"),
        ("", ""),
    ],
)
def test_a_text_that_is_cut_anywhere_ends_with_a_whole_word(text: str, kept: str) -> None:
    assert without_cut_end(Facts("", ""), text) == kept


def test_prose_may_end_after_any_word() -> None:
    assert without_cut_end(Facts("It is ", "", inside="prose"), "so (see bel") == "so (see"
