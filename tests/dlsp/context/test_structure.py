"""What is being typed does not parse, and its surroundings are seen all the same."""

import time

import pytest

from dlsp.context.structure import Structure, structure
from dlsp.syntax import languages
from dlsp.syntax.source import Source

TS = """\
import a from 'b';

class Shelf {
  one(x) {
    return x;
  }
  here(item) {
    let total = 0;
    ▮
    return total;
  }
  two(y) {
    return y;
  }
}

function after() {
  return 1;
}
"""
GO = """\
package a

import "x"

func one(a int) int {
\treturn a
}

func here(b int) int {
\ttotal := 0
\t▮
\treturn total
}

func after() int {
\treturn 1
}
"""
PY = """\
import os


class Shelf:
    def one(self, x):
        return x

    def here(self, item):
        total = 0
        ▮
        return total

    def two(self, y):
        return y


def after():
    return 1
"""
DOCUMENTS = {
    "a.ts": (TS, ["Shelf", "here"], "Shelf one here two after"),
    "a.py": (PY, ["Shelf", "here"], "Shelf one here two after"),
    "a.go": (GO, ["here"], "one here after"),
}
TYPED = [
    "",
    "x = ",
    "x = [",
    "x = {",
    "foo(bar[",
    "if (a {",
    "} else {",
    "for (",
    "=> {",
    "}",
    ")",
    "`",
    "'",
    "func(",
    "@",
]


@pytest.mark.parametrize("typed", TYPED)
@pytest.mark.parametrize("path", DOCUMENTS)
def test_broken_code(path: str, typed: str) -> None:
    document, enclosing, names = DOCUMENTS[path]
    before, after = document.split("▮")
    language = languages.of(path)
    assert language
    place = structure(Source(language), before + typed, after)
    assert place
    assert [each.name for each in place.enclosing] == enclosing
    assert [each.name for each in place.definitions] == names.split()
    assert place.imports


def test_a_function_goes_on_where_the_cursor_is_indented() -> None:
    language = languages.of("a.py")
    assert language
    for indent, names in ((8, ["A", "f"]), (4, ["A"]), (0, [])):
        before = "class A:\n    def f(self):\n        x = 1\n\n" + " " * indent
        place = structure(Source(language), before, "\n\nclass B: ...\n")
        assert place
        assert [each.name for each in place.enclosing] == names


def test_plain_text_where_the_document_is_too_large() -> None:
    language = languages.of("a.py")
    assert language
    assert structure(Source(language), "x = 1\n" * 1_000_000, "") is None


def python(document: str) -> Structure:
    before, after = document.split("▮")
    language = languages.of("a.py")
    assert language
    place = structure(Source(language), before, after)
    assert place
    return place


@pytest.mark.parametrize(
    ("document", "statement"),
    [
        ("x = 1\ny = f(▮2)\n", "y = f(2)"),
        ("def f():\n    a = 1\n    return a▮ + 1\n", "return a + 1"),
        ("x = [1,\n     {2: ▮3},\n     4]\n", "x = [1,\n     {2: 3},\n     4]"),
        ("def f(a▮,\n      b):\n    c = 1\n    return 2\n", "def f(a,\n      b):"),
        ("for a in ▮b:\n    c = 1\n    return 2\n", "for a in b:"),
    ],
)
def test_the_statement_around_the_cursor(document: str, statement: str) -> None:
    place = python(document)
    found = place.statement()
    assert found
    assert place.content[slice(*found)].decode().rstrip() == statement


@pytest.mark.parametrize("document", ["x = 1\n▮\ny = 2\n", "def f():\n    a = 1\n    ▮\n    return 2\n"])
def test_no_statement_between_statements(document: str) -> None:
    assert python(document).statement() is None


def test_the_statement_of_a_deep_place_takes_a_moment() -> None:
    place = python("x = '▮' + " + " + ".join(f"'piece {number}'" for number in range(8_000)) + "\n")
    began = time.process_time()
    assert place.statement() == (0, len(place.content) - 1)
    assert time.process_time() - began < 0.2, "climbing from the cursor takes seconds"
