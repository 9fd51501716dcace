"""What other language servers told, in the prompt."""

from pathlib import Path

import pytest

from dlsp.context.asked import place
from dlsp.context.build import LEFT_OUT, SOURCES
from dlsp.context.server_answers import MAX_TOKENS, Answer, Diagnostic, ServerAnswers, above_last_line, line_start
from dlsp.context.tokens import tokens
from dlsp.context.workspace import Workspace
from dlsp.syntax import languages

PYRIGHT = "```python\n(variable) client: Client\n```\n---\nThe client."
GOPLS = "```go\nvar client *http.Client\n```\n\nThe client that is used."
RUST = "```rust\nfees::client\n```\n\n```rust\nlet client: Client<'a>\n```\n\n---\n\nsize = 8"
CLANGD = "### variable `client`  \n\n---\nType: `Client *`  \n\n---\n```cpp\nClient *client\n```"
SEVERAL_LINES = "```python\n(method) def get(\n    url: str,\n    key: str = 'abc',\n) -> Response\n```"


def comments(
    before: str, answer: Answer, after: str = "", path: str = "a.py", without: tuple[str, ...] = ()
) -> list[str]:
    told = ServerAnswers()
    told.note(path, place(before), answer)
    language = languages.of(path)
    assert language is not None
    return told.comments(path, before, after, language, without)


@pytest.mark.parametrize(
    ("path", "hover", "comment"),
    [
        ("a.py", PYRIGHT, "# client: Client"),
        ("a.go", GOPLS, "// var client *http.Client"),
        ("a.rs", RUST, "// let client: Client<'a>"),
        ("a.cc", CLANGD, "// Client *client"),
        ("a.lua", "client: Client", "-- client: Client"),
        ("a.py", SEVERAL_LINES, '# def get(url: str, key: str = "...") -> Response'),
    ],
)
def test_the_type_before_a_dot(path: str, hover: str, comment: str) -> None:
    assert comments("x = client.", Answer(hover), path=path) == [comment]


@pytest.mark.parametrize(
    "hover",
    ["", "```python\n(module) client\n```", "```python\n(variable) client: Unknown\n```", "Only words.", "```\n```"],
)
def test_what_says_nothing_is_left_out(hover: str) -> None:
    assert comments("x = client.", Answer(hover)) == []


def test_the_signature_of_the_call() -> None:
    assert comments("get(", Answer(signature="get(url: str) -> Response")) == ["# get(url: str) -> Response"]
    assert comments("get(", Answer(signature="(url: str) -> Response")) == ["# get(url: str) -> Response"]
    both = comments("get(client.", Answer(PYRIGHT, "(url: str) -> Response"))
    assert both == ["# client: Client", "# get(url: str) -> Response"]


def test_a_long_signature_is_cut_between_parameters() -> None:
    parameters = ", ".join(f"parameter_{number}: dict[str, int]" for number in range(30))
    (comment,) = comments("get(", Answer(signature=f"get({parameters})"))
    assert comment.startswith("# get(parameter_0: dict[str, int], parameter_1:")
    assert comment.endswith(", ...")
    assert tokens(comment) <= MAX_TOKENS


def test_no_secret_and_no_text_of_strings() -> None:
    hover = "```python\n(variable) client: Literal['of a file that is never read']\n```"
    assert comments("client.", Answer(hover)) == ['# client: Literal["..."]']
    (comment,) = comments("get(", Answer(signature="get(token=ghp_" + "a1B2" * 9 + ")"))
    assert "a1B2" not in comment


def test_errors_near_the_cursor() -> None:
    before = "import os\nprint(jsn.dumps(1))\nx = fo()\n\nx = "
    after = "\n" * 30 + "bar()\n"
    told = [
        (34, "far away"),
        (4, "in the line itself"),
        (1, "`jsn` is not defined\nat all"),
        (2, "`fo` is not defined"),
    ]
    found = comments(before, Answer(diagnostics=tuple(Diagnostic(*each) for each in told)), after)
    assert found == [
        "# error in `x = fo()`: `fo` is not defined",
        "# error in `print(jsn.dumps(1))`: `jsn` is not defined",
    ]


def test_sources_that_are_switched_off() -> None:
    answer = Answer(PYRIGHT, diagnostics=(Diagnostic(0, "wrong"),))
    assert comments("a\nx = client.", answer, without=("diagnostics",)) == ["# client: Client"]
    assert comments("a\nx = client.", answer, without=("types",)) == ["# error in `a`: wrong"]
    assert comments("a\nx = client.", answer, without=SOURCES) == []


def test_an_answer_is_about_its_place_alone() -> None:
    told, python = ServerAnswers(), languages.of("a.py")
    assert python is not None
    told.note("a.py", place("\nx = client."), Answer(PYRIGHT))
    assert told.comments("a.py", "\nx = client.get", "", python, ())
    for path, before in [("a.py", "\n\nx = client."), ("a.py", "\ny = client."), ("b.py", "\nx = client.")]:
        assert told.comments(path, before, "", python, ()) == []
    told.note("a.py", place("\nget("), Answer(signature="get(url)"))
    assert told.comments("a.py", "\nx = client.", "", python, ()), "it is in the same row"
    told.note("a.py", place("get("), Answer(signature="get(url)"))
    assert told.comments("a.py", "\nx = client.", "", python, ()) == []
    told.forget("a.py")
    assert told.comments("a.py", "get(", "", python, ()) == []


@pytest.mark.parametrize(
    ("prefix", "middle", "with_them"),
    [
        ("x", "\n    client.", "\n    # a\n    # b\n    client."),
        ("x\n    ", "client.", "# a\n    # b\n    client."),
        ("x\n  ", "  client.", "  # a\n    # b\n    client."),
        ("", "client.", "# a\n# b\nclient."),
        ("x\n    y = ", "client.", "client."),
    ],
)
def test_comments_stand_above_the_line_with_its_indentation(prefix: str, middle: str, with_them: str) -> None:
    assert above_last_line(prefix, middle, ["# a", "# b"]) == with_them
    assert above_last_line(prefix, middle, []) == middle


@pytest.mark.parametrize(
    ("before", "start"),
    [("x = 1\n    y.", "x = 1\n    "), ("y.", ""), ("x\r\n\ty", "x\r\n\t"), ("", ""), ("\n  ", "\n  ")],
)
def test_where_the_text_of_a_line_begins(before: str, start: str) -> None:
    assert before[: line_start(before)] == start


def test_a_workspace_tells_them(tmp_path: Path) -> None:
    workspace, python = Workspace(tmp_path), languages.of("a.py")
    workspace.without = ()
    workspace.server_answers.note("a.py", place("x = client."), Answer(PYRIGHT))
    assert workspace.comments(tmp_path / "a.py", "x = client.", "", python) == ["# client: Client"]
    assert workspace.comments(tmp_path / "a.py", "x = client.", "", None) == []
    workspace.without = LEFT_OUT  # as it ships
    assert workspace.comments(tmp_path / "a.py", "x = client.", "", python) == []
