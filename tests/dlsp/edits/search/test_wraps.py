"""What the edit put around a call is put around the other calls of the same function."""

import pytest

from dlsp.edits.history.edit import Edit
from dlsp.edits.rank.sites import sites
from dlsp.edits.search.page import Page
from dlsp.syntax import languages

WRAPS = {
    "a call": (
        "a.py",
        "a = load(1)\nb = g(load(2) + load(3))\n",
        "a = str(load(1))\n",
        {"b = g(str(load(2)) + str(load(3)))"},
    ),
    "await": ("a.js", "a = load(1);\nreturn load(2, x);\n", "a = await load(1);\n", {"return await load(2, x);"}),
    "await in functions that may": (
        "a.py",
        "a = load(1)\nasync def f():\n    return load(2)\ndef g():\n    return load(3)\n",
        "a = await load(1)\n",
        {"return await load(2)"},
    ),
    "a method behind it": (
        "a.py",
        "a = load(1)\nreturn load(2)\n",
        "a = load(1).strip()\n",
        {"return load(2).strip()"},
    ),
    "a question mark": ("a.rs", "let a = load(1);\nlet b = load(2);\n", "let a = load(1)?;\n", {"let b = load(2)?;"}),
    "two calls in a row": ("a.py", "a = load(1), load(2)\nload(3)\n", "a = f(load(1)), f(load(2))\n", {"f(load(3))"}),
    "a call of several lines": ("a.py", "load(1)\nload(\n    2,\n)\n", "f(load(1))\n", {"f(load(\n    2,\n))"}),
    "one that has it": ("a.js", "a = load(1);\nb = await load(2);\n", "a = await load(1);\n", set[str]()),
    "another thing's method": (
        "a.py",
        "from x import load\nload(1)\ny.load(2)\n",
        "from x import load\nf(load(1))\n",
        set[str](),
    ),
}


@pytest.mark.parametrize(("path", "before", "edited", "wanted"), WRAPS.values(), ids=WRAPS)
def test_the_other_calls_follow(path: str, before: str, edited: str, wanted: set[str]) -> None:
    rows = edited.count("\n")
    after = edited + "".join(before.splitlines(keepends=True)[rows:])
    edit = Edit.between(path, before, after)
    own = Page(path, path, after, languages.of(path), tuple(edit.ranges()))
    found = sites(edit, own, [own])
    assert {"".join(site.lines).strip() for site in found} == wanted
    assert not any(site.certain for site in found)
