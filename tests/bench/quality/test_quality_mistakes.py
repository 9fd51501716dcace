"""Mistakes of fills that fail."""

import pytest

from bench.quality.mistakes import breaks_syntax, repeats_suffix
from bench.quality.sets import Task

LOOP = Task(
    "cpp/1/block/0-1",
    "",
    "int f(int n) {\n    int s = 0;\n",
    "\n    }\n    return s;\n}\n",
    "    for (int i = 0; i < n; i++) {\n        s += i;",
    "",
    language="cpp",
)


@pytest.mark.parametrize(
    ("text", "repeats", "breaks"),
    [
        (LOOP.canonical, False, False),
        ("    for (int i = 0; i < n; i++) {\n        s -= i;", False, False),
        ("    for (int i = 0; i < n; i++) s += i;\n    return s;", True, True),
        ("    {\n    return s;", True, False),
        ("    s = n;", False, True),
        ("    if (n) {\n        s = (n;", False, True),
        ("", False, True),
    ],
)
def test_a_repeated_suffix_and_a_broken_tree_are_distinguished(text, repeats, breaks):
    assert (repeats_suffix(LOOP, text), breaks_syntax(LOOP, text)) == (repeats, breaks)


def test_what_the_original_repeats_is_no_mistake():
    twice = Task("HumanEval/1/L0", "f", "def f():\n", "    step()\n", "    step()\n", "")
    assert not repeats_suffix(twice, "    step()\n")
    assert repeats_suffix(twice, "    step()\n    step()\n")


def test_brackets_alone_are_no_repetition():
    closing = Task("java/1/line/0-1", "", "class A {\n", "\n}\n", "", "", language="java")
    assert not repeats_suffix(closing, "}")
