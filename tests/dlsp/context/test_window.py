import random
from pathlib import Path

import pytest

from dlsp.context.build import build
from dlsp.context.parts import Context, Part, plain
from dlsp.context.tokens import tokens
from dlsp.syntax import languages
from dlsp.syntax.source import Source

FUNCTION = (
    "    def {name}(self, a, b):\n        '''Doc of {name}.'''\n"
    + "        a = a + b * 2\n" * 12
    + "        return a\n\n"
)
LONG = (
    "import os\nimport sys\n\nLIMIT = 3\n\n\nclass Shelf:\n    size: int = 1\n\n"
    + "".join(FUNCTION.format(name=f"before{number}") for number in range(6))
    + "    def here(self, item):\n        '''Where the cursor is.'''\n        total = item.▮\n        return total\n\n"
    + "".join(FUNCTION.format(name=f"after{number}") for number in range(6))
)


def seen(document: str, path: str = "a.py", budget: int = 400) -> Context:
    before, after = document.split("▮")
    language = languages.of(path)
    return build(path, before, after, source=Source(language) if language else None, budget=budget)


def test_small_files_are_seen_whole() -> None:
    assert seen("a = 1\n▮b\n").window == ("a = 1\n", "b\n")
    assert seen("a\nb▮\nc", "a.txt").window == ("a\nb", "\nc")


def test_what_is_seen_of_a_long_file() -> None:
    context = seen(LONG)
    prefix, suffix = context.window
    assert tokens(prefix) + tokens(suffix) <= 400
    assert prefix.startswith("import os\nimport sys\n")
    assert "class Shelf:\n" in prefix
    assert prefix.endswith("    def here(self, item):\n        '''Where the cursor is.'''\n        total = item.")
    assert "    def before5(self, a, b): ...\n" in prefix or "return a\n\n    def here" in prefix
    assert suffix.startswith("\n        return total\n\n    def after0(")
    assert suffix.endswith(("return a\n", "a = a + b * 2\n"))


def test_every_part_has_its_reason() -> None:
    whys = [part.why for part in seen(LONG).prefix]
    assert any("an import" in why for why in whys)
    assert any("the enclosing class Shelf" in why for why in whys)
    assert "the enclosing function here" in whys[-1]


def test_the_head_of_a_function_that_does_not_fit() -> None:
    document = "def f(a, b):\n" + "    a += b\n" * 200 + "    return ▮\n"
    prefix = seen(document, budget=200).window.prefix
    assert prefix.startswith("def f(a, b):\n    a += b\n")
    assert prefix.endswith("a += b\n    return ")
    assert tokens(prefix) <= 200


STATEMENTS = [
    "x = f(▮\n" + "    1,\n" * 60 + ")\n" + "y = 2\n" * 300,
    "x = {\n    'a': ▮,\n" + "    'b': [1, 2],\n" * 20 + "}\n" + "y = 2\n" * 300,
    "def f():\n    x = g(a, ▮\n" + "        1,\n" * 30 + "    )\n" + "    y = 2\n" * 300,
]


@pytest.mark.parametrize("document", STATEMENTS)
def test_the_statement_under_the_cursor_is_never_cut(document: str) -> None:
    after = document.split("▮")[1]
    rest = after[: after.index("y = 2")].rstrip()
    prefix, suffix = seen(document, budget=280).window
    assert suffix.startswith(rest)
    assert tokens(prefix) + tokens(suffix) <= 280


def test_between_statements_the_suffix_is_cut_at_any_of_them() -> None:
    for line in ("    ▮\n", "    for each in▮ items:\n        a = 1\n"):
        document = "def f():\n    x = 1\n" + line + "    y = g(1, 2)\n" * 40 + "\n\n" + "z = 3\n" * 300
        suffix = seen(document, budget=400).window.suffix
        assert "y = g(1, 2)\n" in suffix
        assert suffix.rstrip().endswith(")")
        assert tokens(suffix) <= 120


def test_a_long_line_that_ends_a_function_is_cut() -> None:
    document = "def f():\n    return g(▮" + "a, " * 5000 + ")\n\n\n" + "z = 3\n" * 300
    prefix, suffix = seen(document, budget=400).window
    assert suffix.startswith("a, a, ")
    assert tokens(prefix) + tokens(suffix) <= 400


def test_a_head_that_is_too_long_is_cut() -> None:
    parameters = "".join(f"    parameter{number}: int = {number},\n" for number in range(100))
    document = f"def f(\n{parameters}):\n" + "    a += b\n" * 200 + "    return ▮\n"
    prefix = seen(document, budget=300).window.prefix
    assert prefix.startswith("def f(\n    parameter0: int = 0,\n")
    assert prefix.endswith("    a += b\n" * 20 + "    return ")
    assert tokens(prefix) <= 300


def test_no_line_of_a_long_head_is_shown_twice() -> None:
    parameters = "".join(f"    parameter{number}=None,\n" for number in range(12))
    for lines in range(60):
        document = "x = 1\n" * 200 + f"def f(\n{parameters}):\n" + "    a += b\n" * lines + "    return ▮\n"
        prefix = seen(document, budget=200).window.prefix
        assert prefix.count("parameter11=") == 1
        assert prefix.count("def f(\n") == 1


def test_a_suffix_ends_where_a_statement_does() -> None:
    document = "▮\n" + "def f(a):\n    return g(\n        a,\n        1,\n    )\n\n\n" * 40
    for budget in range(150, 260, 7):
        suffix = seen(document, budget=budget).window.suffix
        assert suffix.rstrip().endswith(")")


def test_what_is_typed_may_be_broken() -> None:
    for line in ("total = item.pri(", "if item.▮ and (", "total = [", "'", "for x in"):
        document = LONG.replace("total = item.▮", line if "▮" in line else f"{line}▮")
        context = seen(document)
        prefix = context.window.prefix
        assert "class Shelf:\n" in prefix, line
        assert "def here(self, item):" in prefix, line
        assert prefix.startswith("import os\n"), line


def test_the_start_of_the_prefix_stays_while_lines_are_typed() -> None:
    starts = set()
    for number in range(12):
        document = "".join(f"x{line} = f(a, b, {line})\n" for line in range(300 + number)) + "▮\n"
        starts.add(seen(document).window.prefix[:40])
    assert len(starts) <= 3


@pytest.mark.parametrize("path", ["a.txt", "a.py", "a.json"])
def test_line_endings_are_plain(path: str) -> None:
    assert seen("a\r\nb▮\r\nc\rd", path).window == ("a\nb", "\nc\nd")


def test_lone_surrogates_do_not_reach_the_engine() -> None:
    assert seen("a\ud83db▮").window.prefix == "a?b"


def test_long_lines_are_cut_inside() -> None:
    prefix, suffix = seen("x = '" + "ab " * 5000 + "▮" + "cd " * 5000 + "'\n", budget=300).window
    assert 10 < tokens(prefix) <= 300
    assert 10 < tokens(suffix) <= 300


def test_files_of_a_path_are_one_file() -> None:
    others = (Part("b.py", 5, "two\n", ""), Part("b.py", 1, "one", ""))
    context = Context(others, (), Part("a.py", 0, "", ""))
    assert context.files == [{"path": "b.py", "text": "one\ntwo\n"}]


def test_any_place_of_any_file() -> None:
    """The cursor's surroundings are the document's, whatever is left out; and the budget holds."""
    chance = random.Random(3)
    files = sorted(Path(random.__file__).parent.glob("*.py"))
    for file in chance.sample(files, 30):
        text = file.read_text(encoding="utf-8")
        source = Source(languages.of(file))  # type: ignore[arg-type]
        for _ in range(5):
            at = chance.randrange(len(text) + 1)
            context = build(file.name, text[:at], text[at:], source=source, budget=512)
            prefix, suffix = context.window
            assert plain(text[:at]).endswith(context.prefix[-1].text)
            assert plain(text[at:]).startswith(suffix)
            assert len(prefix) >= min(at, 100)
            assert tokens(prefix) + tokens(suffix) <= 512
            rows = [row for part in context.prefix for row in range(part.row, part.row + part.text.count("\n"))]
            assert len(rows) == len(set(rows)), "no line is shown twice"
