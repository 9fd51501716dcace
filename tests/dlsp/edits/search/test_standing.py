"""A rename keeps to the name it was given to."""

import pytest

from dlsp.edits.history.edit import Edit
from dlsp.edits.rank.proposals import learned
from dlsp.edits.rank.sites import rules_of
from dlsp.edits.search.page import Page
from dlsp.edits.search.standing import Standing
from dlsp.syntax import languages

PYTHON = languages.LANGUAGES[0]


def edited(path: str, before: str, after: str) -> tuple[Edit, Page]:
    edit = Edit.between(path, before, after)
    return edit, Page(path, path, after, languages.of(path), tuple(edit.ranges()))


def standings(edit: Edit, own: Page, old: str, page: Page | None = None) -> list[str]:
    """Of each place of the old name after the edit, on its own page or another."""
    rule = next(rule for rule in rules_of(edit, own) if rule.kind == "rename" and rule.old == (old,))
    standing, page = Standing(rule, own), page or own
    return [standing.at(page, token.start) for token in page.tokens if token.text == old]


@pytest.mark.parametrize(
    ("before", "after", "old", "wanted"),
    [
        ("def f(fee):\n    return fee\n", "def f(cost):\n    return fee\n", "fee", ["follows"]),
        (
            "def f(fee):\n    return fee\n\n\ndef g(fee):\n    return fee\n",
            "def f(cost):\n    return fee\n\n\ndef g(fee):\n    return fee\n",
            "fee",
            ["follows", "out of reach", "out of reach"],
        ),
        (
            "def f(fee):\n    fee = fee or 1\n    return fee\n",
            "def f(cost):\n    fee = fee or 1\n    return fee\n",
            "fee",
            ["follows", "follows", "follows"],
        ),
        (
            "for box in boxes:\n    box.open()\nbox.close()\n",
            "for each in boxes:\n    box.open()\nbox.close()\n",
            "box",
            ["follows", "out of reach"],
        ),
        (
            "class A:\n    def f(self):\n        pass\n\n    def g(self):\n        self.f()\n        f()\n",
            "class A:\n    def run(self):\n        pass\n\n    def g(self):\n        self.f()\n        f()\n",
            "f",
            ["own member", "out of reach"],
        ),
        (
            "def f(fee):\n    pass\n\n\nf(fee=1)\ng(fee=1)\n",
            "def f(cost):\n    pass\n\n\nf(fee=1)\ng(fee=1)\n",
            "fee",
            ["own keyword", "another's keyword"],
        ),
    ],
)
def test_how_a_place_stands_to_the_edit(before: str, after: str, old: str, wanted: list[str]) -> None:
    assert standings(*edited("a.py", before, after), old) == wanted


def test_the_same_name_in_another_scope_is_left_alone() -> None:
    before = (
        "import box\n\n\ndef load(box):\n    print(box)\n    return box\n\n\n"
        "def late(path):\n    for box in path:\n        box.close()\n    return box.open(path)\n"
    )
    after = before.replace("def load(box)", "def load(parcel)", 1)
    edit, own = edited("a.py", before, after)
    changed = {each.site.start: each.site.lines[0].strip() for each in learned(edit, own, [own])}
    assert changed == {4: "print(parcel)", 5: "return parcel"}


def test_a_file_follows_that_imports_the_name_from_the_module() -> None:
    edit, own = edited("lib/fees.py", "def fee():\n    return 1\n", "def cost():\n    return 1\n")

    def at(text: str) -> list[str]:
        return standings(edit, own, "fee", Page(text, "other.py", text, PYTHON))

    assert at("from lib.fees import fee\n\nprint(fee())\n") == ["follows", "follows"]
    assert at("from lib import fees\n\nfees.fee(bank.fee)\n") == ["follows", "a member"]
    assert at("def load(fee):\n    return fee\n") == ["", ""]


@pytest.mark.parametrize(
    ("exports", "imports"),
    [
        ("module.exports = { addItem };\n", 'const { addItem } = require("./cart");\n'),
        ("export { addItem };\n", "import { addItem } from '../shop/cart.js';\n"),
        ("export default addItem;\n", 'import addItem from "./cart";\n'),
    ],
)
def test_a_file_of_javascript_follows_that_imports_the_name(exports: str, imports: str) -> None:
    """Its modules are named by paths in strings."""
    language = languages.of("cart.js")
    before = "function addItem(name) {\n  items.push(name);\n}\n\n" + exports
    edit, own = edited("shop/cart.js", before, before.replace("function addItem", "function addProduct"))
    app = Page("app.js", "shop/app.js", imports + '\naddItem("tea");\naddItem("milk");\n', language)
    other = Page("other.js", "shop/other.js", imports.replace("cart", "carts") + '\naddItem("tea");\n', language)
    found = {(site.site.page.path, site.site.start): site.confidence for site in learned(edit, own, [own, app, other])}
    assert {row for path, row in found if path == "shop/app.js"} == {0, 2, 3}
    assert not [row for path, row in found if path == "shop/other.js"]


OTHER_LANGUAGES = {
    "a local of C": (
        "a.c",
        "int f(int a) {\n    int sum[N] = {0};\n    sum += a;\n    return sum;\n}\n"
        "int g(void) {\n    char *sum = 0;\n    use(sum);\n}\n",
        "sum[",
        ["follows", "follows", "out of reach", "out of reach"],
    ),
    "a function of C": (
        "a.c",
        "int sum(int a) {\n    return a;\n}\nint g(void) {\n    return sum(1);\n}\n",
        "sum",
        ["follows"],
    ),
    "a field of C++": (
        "a.cpp",
        "class A {\n    int f() { return this->sum + sum; }\n    int sum;\n};\nint g(int sum) { return sum; }\n",
        "int sum;",
        ["own member", "follows", "out of reach", "out of reach"],
    ),
    "a local of Go": (
        "a.go",
        "func f() int {\n\tsum := 0\n\tsum += 1\n\treturn sum\n}\nfunc g() {\n\tsum := 1\n}\n",
        "sum :=",
        ["follows", "follows", "out of reach"],
    ),
    "a method of Rust": (
        "a.rs",
        "impl A {\n    fn sum() -> Self {\n        Self::sum();\n        B::sum();\n        self.b.sum()\n    }\n}\n",
        "sum",
        ["own member", "a member", "a member"],
    ),
    "a method of Java": (
        "A.java",
        "class A {\n    void sum(B b) {\n        b.sum();\n        sum();\n        this.sum();\n    }\n}\n",
        "sum",
        ["a member", "follows", "own member"],
    ),
    "a loop's name of Java": (
        "A.java",
        "class A {\n    void f() {\n        for (int sum : xs) {\n            use(sum);\n        }\n    }\n"
        "    void g() {\n        try (A sum = a()) {\n            sum.b();\n        }\n    }\n}\n",
        "sum",
        ["follows", "out of reach", "out of reach"],
    ),
    "what is caught in TypeScript": (
        "a.ts",
        "function f() {\n  try {\n  } catch (sum) {\n    use(sum);\n  }\n}\nconst g = sum => sum + 1;\n",
        "sum",
        ["follows", "out of reach", "out of reach"],
    ),
    "a field of C#": (
        "A.cs",
        "class A {\n    int sum = 0;\n    void F(B b) {\n        sum += 1;\n        this.sum = b.sum;\n"
        "        var c = sum;\n    }\n}\n",
        "sum",
        ["follows", "own member", "a member", "follows"],
    ),
    "a local of C#": (
        "A.cs",
        "class A {\n    void F() {\n        var sum = 0;\n        sum += 1;\n    }\n"
        "    void G() {\n        var sum = 1;\n    }\n}\n",
        "sum",
        ["follows", "out of reach"],
    ),
    "a field of TypeScript": (
        "a.ts",
        "class A {\n  private sum: number[] = [];\n  f() {\n    const a = this.sum;\n    return sum;\n  }\n}\n"
        "class B {\n  sum = 1;\n  f() {\n    return this.sum;\n  }\n}\n",
        "sum",
        ["own member", "out of reach", "out of reach", "another's member"],
    ),
    "a field of JavaScript": (
        "a.js",
        "class A {\n  sum = 1;\n  f() {\n    return this.sum;\n  }\n}\n",
        "sum",
        ["own member"],
    ),
}


@pytest.mark.parametrize(("name", "text", "renamed", "wanted"), OTHER_LANGUAGES.values(), ids=OTHER_LANGUAGES)
def test_how_places_stand_in_other_languages(name: str, text: str, renamed: str, wanted: list[str]) -> None:
    """To the first place that reads `renamed`, which is called `total` now."""
    after = text.replace(renamed, renamed.replace("sum", "total"), 1)
    assert standings(*edited(name, text, after), "sum") == wanted


ELSEWHERE = {
    "a file of C that includes its header": (
        ("lib/fees.c", "int sum(int a) {\n    return a;\n}\n"),
        ("main.c", '#include "fees.h"\nint g(int sum) { return sum; }\nint main(void) { return sum(1) + b.sum; }\n'),
        ["", "", "follows", "a member"],
    ),
    "its header": (("fees.c", "int sum(int a) {\n    return a;\n}\n"), ("fees.h", "int sum(int a);\n"), ["follows"]),
    "a file of C that does not": (
        ("fees.c", "int sum(int a) {\n    return a;\n}\n"),
        ("main.c", "int main(void) { return sum(1); }\n"),
        [""],
    ),
    "a file of the same package of Go": (
        ("shop/fees.go", "func sum() int {\n\treturn 1\n}\n"),
        ("shop/main.go", "func f() int {\n\treturn sum()\n}\nfunc g(sum int) int {\n\treturn sum\n}\n"),
        ["follows", "", ""],
    ),
    "one of another": (
        ("shop/fees.go", "func sum() int {\n\treturn 1\n}\n"),
        ("main/main.go", "func f() int {\n\treturn sum() + shop.sum()\n}\n"),
        ["", "follows"],
    ),
    "one of Java": (
        ("shop/Fees.java", "class Fees {\n    static int sum() { return 1; }\n}\n"),
        ("shop/A.java", "class A {\n    int f(Bank b) { return Fees.sum() + b.sum(); }\n}\n"),
        ["follows", ""],
    ),
    "one of Rust": (
        ("src/fees.rs", "pub fn sum() -> u8 {\n    1\n}\n"),
        ("src/main.rs", "use crate::fees::{self, sum};\nfn f() -> u8 { sum() + fees::sum() + bank::sum() }\n"),
        ["follows", "follows", "follows", "a member"],
    ),
    "a package of Python": (
        ("fees/__init__.py", "def sum():\n    return 1\n"),
        ("main.py", "from fees import sum\nsum()\n"),
        ["follows", "follows"],
    ),
}


@pytest.mark.parametrize(("own", "other", "wanted"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_how_places_of_another_file_stand(own: tuple[str, str], other: tuple[str, str], wanted: list[str]) -> None:
    """To its `sum`, which is called `total` now."""
    path, before = own
    there = Page(other[0], other[0], other[1], languages.of(other[0]))
    assert standings(*edited(path, before, before.replace("sum", "total", 1)), "sum", there) == wanted
