"""An argument or a parameter that was added or taken away is so at the other calls too."""

import pytest

from dlsp.edits.history.edit import Edit
from dlsp.edits.rank.proposals import learned
from dlsp.edits.rank.sites import sites
from dlsp.edits.search.page import Page
from dlsp.syntax import languages

AREA = (
    "def area(width, height):\n    return width * height\n\n\n"
    "area(1, 2)\narea(3, height)\nprint(area(a, b) + other.area(1, 2))\n"
)
CLASS = (
    "class A:\n    def load(self, path):\n        return path\n\n    def all(self):\n"
    "        return [self.load(each) for each in self.paths]\n\n\nload(1)\n"
)
CALLS = {
    "a parameter": (
        "a.py",
        AREA,
        ("height):", "height, unit):"),
        {5: "area(1, 2, unit)", 6: "area(3, height, unit)", 7: "print(area(a, b, unit) + other.area(1, 2))"},
    ),
    "a parameter at the front": ("a.py", AREA, ("(width,", "(unit, width,"), {5: "area(unit, 1, 2)"}),
    "a parameter with a default": ("a.py", AREA, ("height):", "height, unit=1):"), {}),
    "a parameter by name": (
        "a.py",
        "def area(width, *, height):\n    pass\n\n\narea(1, height=2)\n",
        ("height):", "height, unit):"),
        {5: "area(1, height=2, unit=unit)"},
    ),
    "an argument at one call": (
        "a.py",
        AREA,
        ("area(1, 2)", "area(1, 2, cm)"),
        {1: "def area(width, height, cm):", 6: "area(3, height, cm)", 7: "print(area(a, b, cm) + other.area(1, 2))"},
    ),
    "a keyword at one call": (
        "a.py",
        AREA,
        ("area(1, 2)", "area(1, 2, unit=5)"),
        {1: "def area(width, height, unit):", 6: "area(3, height, unit=5)"},
    ),
    "a keyword that the function has": (
        "a.py",
        AREA.replace("height):", "height, unit=1):"),
        ("area(1, 2)", "area(1, 2, unit=5)"),
        {},
    ),
    "an argument of a function from elsewhere": ("a.py", "import x\n\nx.f(1)\nx.f(2)\n", ("f(1)", "f(1, 5)"), {}),
    "a parameter and its argument at one call": (
        "a.py",
        "def area(width):\n    return width\narea(1)\n\n\narea(2)\n",
        ("width):\n    return width\narea(1)", "width, unit):\n    return width\narea(1, cm)"),
        {6: "area(2, cm)"},
    ),
    "a parameter of a method": (
        "a.py",
        CLASS,
        ("(self, path)", "(self, path, mode)"),
        {6: "return [self.load(each, mode) for each in self.paths]"},
    ),
    "a parameter of TypeScript": (
        "a.ts",
        "function area(width: number) {\n  return width;\n}\narea(1);\nx.area(1);\narea(...all);\n",
        ("width: number", "width: number, unit: string"),
        {4: "area(1, unit);"},
    ),
    "a parameter of Go": (
        "a.go",
        "package a\n\nfunc area(w int) int {\n\treturn w\n}\n\nvar b = area(1)\n",
        ("w int)", "w int, u unit)"),
        {7: "var b = area(1, u)"},
    ),
    "a parameter of Rust": (
        "a.rs",
        "fn area(w: u8) -> u8 {\n    w\n}\n\nfn f() {\n    area(1);\n}\n",
        ("w: u8", "w: u8, unit: u8"),
        {6: "area(1, unit);"},
    ),
    "a parameter of Java": (
        "A.java",
        "class A {\n    int area(int w) {\n        return w;\n    }\n"
        "    int f() {\n        return area(1);\n    }\n}\n",
        ("int w", "int w, int unit"),
        {6: "return area(1, unit);"},
    ),
    "a parameter of C": (
        "a.c",
        "int area(int w) {\n    return w;\n}\nint f(void) {\n    return area(1);\n}\n",
        ("int w", "int w, int unit"),
        {5: "return area(1, unit);"},
    ),
    "a parameter that is gone": (
        "a.py",
        AREA,
        ("(width, height)", "(width)"),
        {5: "area(1)", 6: "area(3)", 7: "print(area(a) + other.area(1, 2))"},
    ),
    "a parameter that is gone from the front": ("a.py", AREA, ("(width, ", "("), {5: "area(2)", 6: "area(height)"}),
    "a parameter that is gone and was given by name": (
        "a.py",
        "def area(width, *, height):\n    pass\n\n\narea(1, height=2)\narea(1)\n",
        ("width, *, height", "width"),
        {},
    ),
    "a parameter with a default that is gone": (
        "a.py",
        "def area(width, height=1):\n    pass\n\n\narea(1, 2)\narea(1)\narea(1, height=3)\n",
        (", height=1", ""),
        {5: "area(1)", 7: "area(1)"},
    ),
    "an argument that is gone from one call": (
        "a.py",
        AREA,
        ("area(1, 2)", "area(1)"),
        {1: "def area(width):", 6: "area(3)", 7: "print(area(a) + other.area(1, 2))"},
    ),
    "an argument that the function can do without": (
        "a.py",
        AREA.replace("height):", "height=1):"),
        ("area(1, 2)", "area(1)"),
        {},
    ),
    "a parameter of Go that is gone": (
        "a.go",
        "package a\n\nfunc area(w int, u unit) int {\n\treturn w\n}\n\nvar b = area(1, cm)\n",
        (", u unit)", ")"),
        {7: "var b = area(1)"},
    ),
    "another function's call": ("a.py", "def f(a):\n    pass\n\n\ndef g(f):\n    f(1)\n", ("f(a)", "f(a, b)"), {}),
}


@pytest.mark.parametrize(("path", "before", "change", "wanted"), CALLS.values(), ids=CALLS)
def test_the_other_calls_lack_what_was_added(
    path: str, before: str, change: tuple[str, str], wanted: dict[int, str]
) -> None:
    after = before.replace(*change, 1)
    assert after != before
    edit = Edit.between(path, before, after)
    own = Page(path, path, after, languages.of(path), tuple(edit.ranges()))
    found = learned(edit, own, [own])
    told = {each.site.start + 1: "".join(each.site.lines).strip() for each in found}
    assert wanted.items() <= told.items() if wanted else told == {}
    assert not any(each.certain for each in found)


def test_calls_in_files_that_import_the_function() -> None:
    before = "def area(width):\n    return width\n"
    edit = Edit.between("lib/geo.py", before, after := before.replace("(width)", "(width, unit)"))
    own = Page("geo", "lib/geo.py", after, languages.of("geo.py"), tuple(edit.ranges()))
    texts = {"app.py": "from lib.geo import area\n\narea(1)\n", "other.py": "from math import area\n\narea(1)\n"}
    pages = [own, *(Page(path, path, text, languages.of(path)) for path, text in texts.items())]
    found = {(each.site.page.path, each.site.lines[0]) for each in learned(edit, own, pages)}
    assert found == {("app.py", "area(1, unit)\n")}


ELSEWHERE = {
    "one more": ("f(a)\ng(f(b))\n", ("f(a)", "f(a, c)"), {"g(f(b, c))"}),
    "one less": ("f(a, c)\ng(f(b, d))\n", ("f(a, c)", "f(a)"), {"g(f(b))"}),
    "another call has it": ("f(a)\ng(f(b))\nf(b, c)\n", ("f(a)", "f(a, c)"), set[str]()),
    "another call has another number": ("f(a, b)\ng(f(d, e))\nf(d)\n", ("f(a, b)", "f(a, b, c)"), set[str]()),
}


@pytest.mark.parametrize(("before", "change", "wanted"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_the_model_is_asked_about_calls_of_a_function_from_elsewhere(
    before: str, change: tuple[str, str], wanted: set[str]
) -> None:
    after = before.replace(*change, 1)
    edit = Edit.between("a.py", before, after)
    own = Page("a.py", "a.py", after, languages.of("a.py"), tuple(edit.ranges()))
    assert {"".join(site.lines).strip() for site in sites(edit, own, [own])} == wanted
    assert learned(edit, own, [own]) == []
