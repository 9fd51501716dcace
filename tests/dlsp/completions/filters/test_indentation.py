"""Answers in documents with blanks and tabs, of levels of any width; and real files, which stay as they are."""

import random
import re
from pathlib import Path

import pytest

from dlsp.completions.filters.indentation import indented

TWO = "function f(a) {\n  return a;\n}\n"
FOUR = "def f(a):\n    return a\n\n\n"
TABS = "func f() {\n\tg()\n}\n"

CASES = {
    "as it is": ("def f():\n    ▮", "x = 1\n    y = 2", "x = 1\n    y = 2"),
    "the cursor's own again": ("a = 1\nif b:\n    x = 1\n    ▮", "    y = 2\n    z = 3", "y = 2\n    z = 3"),
    "deeper where a block begins": ("def f():\n▮", "    x = 1", "    x = 1"),
    "after the cursor's, where a block begins": ("  if b:\n  ▮", "  x = 1", "  x = 1"),
    "tabs": ("def f():\n\tif b:\n\t\t▮", "x = 1\n        y = 2\n    z = 3", "x = 1\n\t\ty = 2\n\tz = 3"),
    "blanks": ("def f():\n    if b:\n        ▮", "x = 1\n\ty = 2", "x = 1\n    y = 2"),
    "tabs in a document of blanks": (FOUR + "if b:\n\t▮", "if c:\n\t\tx = 1", "if c:\n\t\tx = 1"),
    "tabs above in a document of blanks": (FOUR * 2 + "if b:\n\tx = 1\n▮", "\ty = 2", "\ty = 2"),
    "blanks in a document of tabs": (TABS * 2 + "if b:\n    ▮", "if c:\n        x = 1", "if c:\n        x = 1"),
    "blanks behind text in a document of tabs": (TABS + "\tf()▮", "    // f\n    g()", "    // f\n\tg()"),
    "neither yet": ("▮", "if a:\n\tx = 1", "if a:\n\tx = 1"),
    "of two, twice, all of it": (
        TWO + "function g(a) {\n  ▮\n}\n",
        "  if (a) {\n        throw a;\n    }",
        "if (a) {\n    throw a;\n  }",
    ),
    "of two, said below": (
        "function g(a) {\n  ▮\n}\n" + TWO,
        "  if (a) {\n        throw a;\n    }",
        "if (a) {\n    throw a;\n  }",
    ),
    "of two, no deeper than a level": (TWO + "if (a) {\n▮\n}\n", "    g(a);", "  g(a);"),
    "of two, its inner blocks": (
        TWO + "function g(a) {\n  ▮\n}\n",
        "if (a) {\n      if (b) {\n          g(b);\n      }\n  }",
        "if (a) {\n    if (b) {\n      g(b);\n    }\n  }",
    ),
    "of two, from the line's start": (
        TWO + "function g(a) {\n▮\n}\n",
        "    if (a) {\n        throw a;\n    }",
        "  if (a) {\n    throw a;\n  }",
    ),
    "of two, levels of two widths are left": (
        TWO + "if (a) {▮\n}\n",
        "\n  while (a) {\n      a--;\n  }",
        "\n  while (a) {\n      a--;\n  }",
    ),
    "of four, written as of two": (
        FOUR + "def g(a):\n    ▮\n",
        "if a:\n      return 1\n    return 2",
        "if a:\n        return 1\n    return 2",
    ),
    "of four, twice": (FOUR + "def g(a):\n    ▮\n", "    if a:\n            return 1", "if a:\n        return 1"),
    "of four, where half of it is typed": (FOUR + "def g(a):\n  ▮\n", "  return 1", "  return 1"),
    "of four, arguments may hang": (
        FOUR + "def g(\n    ▮\n",
        "    a,\n        b,\n    ):",
        "    a,\n        b,\n    ):",
    ),
    "deeper in an item of a list": ("a:\n  - name: b\n  ▮", "  run: c\n    d: e", "  run: c\n    d: e"),
    "an item of a list, its own again": ("a:\n  - name: b\n    ▮", "    run: c", "run: c"),
    "deeper in a method of Ruby": ("class A\n  def b\n    c\n  end\n\n  def d(e)\n  ▮\nend\n", "  e + 1", "  e + 1"),
    "a method of Ruby, its own again": ("class A\n  def b\n    c\n  end\n\n  def d(e)\n    ▮\nend\n", "    e", "e"),
    "deeper after a condition in brackets": (TWO + "  if (a)\n  ▮\n", "  g(a);", "  g(a);"),
    "no deeper after a condition that is whole": (TWO + "  if (a) return;\n  ▮\n", "  g(a);", "g(a);"),
    "a call that goes on hangs": (FOUR + "    a.b()\n    ▮\n", "    .c()\n        .d()", "    .c()\n        .d()"),
    "a call that goes on again does not": (FOUR + "    a\n        .b()\n        ▮\n", "        .c()", ".c()"),
    "of tabs, written as of two": (
        TABS + "func g(a int) {\n\t▮\n}\n",
        "if a {\n      f()\n    }",
        "if a {\n\t\tf()\n\t}",
    ),
    "of tabs, said below": ("func g() {\n▮\n}\n" + TABS, "    f()", "\tf()"),
    "words of a list are no block": (
        FOUR + 'NAMES = """\n▮',
        "Names are:\n  one\n  two",
        "Names are:\n  one\n  two",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_indented(case: str) -> None:
    document, answer, expected = CASES[case]
    before, after = document.split("▮")
    assert indented(answer, before, after) == expected


@pytest.mark.parametrize("level", ["  ", "    ", "\t"])
def test_what_is_right_stays_as_it_is(level: str) -> None:
    """Whole lines of real files, their levels as wide as said, from the first word of one to the end of another."""
    chance = random.Random(7)
    changed = seen = 0
    for file in chance.sample(sorted(Path(random.__file__).parent.glob("*.py")), 40):
        text = re.sub(r"^(?: {4})+", lambda lead: level * (len(lead[0]) // 4), file.read_text("utf-8"), flags=re.M)
        words = [found.end() for found in re.finditer(r"^[ \t]*(?=\S)", text, re.MULTILINE)]
        for start in chance.sample(words, min(10, len(words))):
            end = start
            for _ in range(chance.randrange(1, 5)):
                end = text.find("\n", end + 1) if end >= 0 else end
            right = text[start : end if end >= 0 else len(text)]
            before, after = text[:start], text[start + len(right) :]
            seen += 1
            changed += indented(right, before, after) != right
    assert changed <= seen / 100, "what hangs, and lists in prose, may be taken for levels"


def test_the_width_of_a_level_is_that_of_the_lines_near():
    far = "if a:\n    b()\n" * 1000
    near = "if a:\n  b()\n" * 100
    assert indented("if c:\n    d()", far + near, "") == "if c:\n  d()"
