"""Places of the document that are like the cursor's: the line to be written often stands there."""

import pytest

from dlsp.context.build import build
from dlsp.context.parts import Context
from dlsp.context.siblings import WHY, siblings
from dlsp.context.tokens import tokens
from dlsp.context.workspace import Workspace
from dlsp.syntax import languages
from dlsp.syntax.source import Source
from tests.dlsp.context.conftest import Ask

LINE = "return func(cmd *Command, args []string) error {"


def argument_check(name: str, test: str) -> str:
    check = f"\t\tif len(args) {test} n {{\n\t\t\treturn nil\n\t\t}}\n"
    return f"func {name}(n int) PositionalArgs {{\n\t{LINE}\n{check}\t}}\n}}\n"


OTHER = (
    "func Unrelated{number}(table map[string]Row, keys []string) {{\n"
    + "\tfor _, key := range keys {{\n\t\ttable[key].Update()\n\t}}\n" * 6
    + "}}\n\n"
)
OTHERS = "".join(OTHER.format(number=number) for number in range(8))
HERE = "func MinimumNArgs(n int) PositionalArgs {\n\treturn func(▮\n}\n\n"
ABOVE = "package cobra\n\n" + argument_check("MaximumNArgs", ">") + "\n" + OTHERS + HERE + OTHERS
BELOW = "package cobra\n\n" + OTHERS + HERE + OTHERS + argument_check("MaximumNArgs", ">")


def seen(
    document: str, previous: Context | None = None, without: tuple[str, ...] = (), path: str = "args.go"
) -> Context:
    before, after = document.split("▮")
    language = languages.of(path)
    source = Source(language) if language else None
    return build(path, before, after, source=source, previous=previous, budget=512, without=without)


@pytest.mark.parametrize("document", [ABOVE, BELOW])
def test_the_line_of_a_function_like_the_cursors_is_seen(document: str) -> None:
    context = seen(document)
    assert LINE in context.window.prefix
    assert LINE not in seen(document, without=("siblings",)).window.prefix
    assert context.window.prefix.endswith("func MinimumNArgs(n int) PositionalArgs {\n\treturn func(")
    assert tokens("".join(context.window)) <= 512


def test_what_is_from_below_stands_ahead_of_the_function_at_the_cursor() -> None:
    *_, below, last = seen(BELOW).prefix
    assert below.why == WHY
    assert last.text.startswith("func MinimumNArgs(") or "\nfunc MinimumNArgs(" in last.text


def test_a_short_start_of_a_file_is_seen_whole_with_what_is_below() -> None:
    prefix = seen("package cobra\n\n" + HERE + OTHERS + argument_check("MaximumNArgs", ">")).window.prefix
    assert prefix.startswith("package cobra\n\n")
    assert LINE in prefix
    assert prefix.endswith("\nfunc MinimumNArgs(n int) PositionalArgs {\n\treturn func(")


def test_no_line_is_shown_twice() -> None:
    for document in (ABOVE, BELOW, ABOVE.replace("MaximumNArgs", "ExactArgs") + argument_check("RangeArgs", "<")):
        context = seen(document)
        rows = [row for part in context.prefix for row in range(part.row, part.row + part.text.count("\n"))]
        assert len(rows) == len(set(rows))


def test_where_nothing_is_like_the_cursors_lines_other_files_keep_their_share(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workspace, "without", ())
    helper = "def helper(a, b):\n" + "    go()\n" * 9
    files = {"lib.py": helper}
    document = "from lib import helper\n\n" + "x1 = open(1)\n" * 3 + "\ndef f(name):\n    value = helper(▮\n"
    context = ask("a.py", document, files)
    assert [part.path for part in context.others] == ["lib.py"]
    assert not [part for part in context.prefix if part.why == WHY]


def test_the_places_stay_while_the_most_alike_is_among_them() -> None:
    first = seen(ABOVE)
    typed = ABOVE.replace("return func(▮", "return func(cmd *Command, ▮")
    then = seen(typed, previous=first)
    assert [part for part in first.prefix if part.why == WHY] == [part for part in then.prefix if part.why == WHY]


def test_places_that_changed_are_looked_for_anew() -> None:
    before, after = ABOVE.split("▮")
    shown = range(before.count("\n") - 2, before.count("\n") + 3)
    first = siblings("args.go", before, after, shown, 200)
    assert any(LINE in part.text for part in first)
    changed = before.replace(LINE, LINE.replace("cmd", "c"))
    then = siblings("args.go", changed, after, shown, 200, first)
    assert any("c *Command" in part.text for part in then)
    assert not any("cmd" in part.text for part in then)
    moved = siblings("args.go", "// a comment\n" + before, after, range(shown.start + 1, shown.stop + 1), 200, first)
    assert [part.row for part in moved] == [part.row + 1 for part in first]


def test_prose_has_none() -> None:
    text = "One line of a letter, the first.\n" * 300
    assert not [part for part in seen(text + "One line ▮\n", path="a.txt").prefix if part.why == WHY]


def test_a_measurement_can_switch_them_on(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any(part.why == WHY for part in ask("args.go", BELOW).prefix)
    monkeypatch.setattr(Workspace, "without", ["recent"])
    assert any(part.why == WHY for part in ask("args.go", BELOW).prefix)
