"""What is looked at with each key takes a moment on any line: while it lasts, no other document is answered."""

import time
from collections.abc import Callable

import pytest

from dlsp import function
from dlsp.completions.gate.features import text_kind
from dlsp.context.names import Names
from dlsp.syntax.brackets import unclosed

LONG = 20_000
LINES = {
    "one letter": "a" * LONG,
    "blanks": " " * LONG + "x",
    "quotes": "\"'`" * (LONG // 3),
    "escaped quotes in an open string": 'x = "' + '\\"' * (LONG // 2),
    "the same, and a backslash": 'x = "' + '\\"' * (LONG // 2) + "\\",
    "escaped apostrophes in an open string": "x = '" + "\\'" * (LONG // 2),
    "the same in a call": "f('" + "\\'" * (LONG // 2),
    "backslashes": "\\" * LONG,
    "calls": "f(a)(" * (LONG // 5),
    "members": "a." * (LONG // 2),
    "blanks in brackets": "f({" + " " * LONG + "})",
    "blanks in braces": "f() {" + " " * LONG + "x",
    "colons": "f(" + "): " * (LONG // 3),
    "words of a comment": "# " + "TODO " * (LONG // 5),
}


def _names(line: str) -> object:
    names = Names(line, line, None)
    return names.near, names.uses, names.owner, names.imported


LOOKS: dict[str, Callable[[str], object]] = {
    "what the cursor is inside of": lambda line: [text_kind(line, "", path) for path in ("a.py", "a.js", "a.lua")],
    "brackets": unclosed,
    "where a function ends": lambda line: function.end(f"{line}\n    x", "\n}\n"),
    "a body to be written": lambda line: function.gap(f"def f():\n{line}\n", 10),
    "names, ten times": lambda line: [_names(line) for _ in range(10)],
}


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("look", LOOKS)
def test_a_moment(look: str, line: str) -> None:
    began = time.process_time()
    LOOKS[look](LINES[line])
    assert time.process_time() - began < 0.3
