"""Edits that must not go where a name means something else, and must go where scopes and imports alone decide."""

from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest

from dlsp.edits.history.edit import Edit
from dlsp.edits.rank.proposals import Proposal, learned, proposals
from dlsp.edits.search.page import Page
from dlsp.engine.client import Engine
from dlsp.syntax import languages

UTILS = """import ipaddress
import typing


def unquote(value):
    return value[1:-1] if value[0] == value[-1] == '"' else value


def to_bytes(value: str | bytes, encoding: str = "utf-8") -> bytes:
    return value.encode(encoding) if isinstance(value, str) else value


def to_str(value: str | bytes, encoding: str = "utf-8") -> str:
    return value if isinstance(value, str) else value.decode(encoding)
"""
URLS = """from urllib.parse import parse_qs, unquote, urlencode

import idna


class URL:
    def username(self):
        return unquote(self.userinfo.partition(":")[0])

    def password(self):
        return unquote(self.userinfo.partition(":")[2])

    def path(self):
        path = self._uri_reference.path or "/"
        return unquote(path)

    def fragment(self):
        # The fragment, without what unquote takes away.
        return unquote(self._uri_reference.fragment or "")
"""
AUTH = """from ._utils import to_bytes, unquote


def header(fields):
    key, value = fields.strip().split("=", 1)
    return {key: unquote(value)}
"""
MODELS = """from ._utils import to_bytes as as_bytes


def _parse_header_links(value: str) -> list[dict[str, str]]:
    links = []
    for val in value.split(","):
        links.append(val)
    return links
"""
HTTPX = {"httpx/_utils.py": UTILS, "httpx/_urls.py": URLS, "httpx/_auth.py": AUTH, "httpx/_models.py": MODELS}
GEO = "def area(width, height):\n    return width * height\n\n\nprint(area(1, 2))\n"
GO = "package main\n\nfunc area(w int, h int) int {\n\treturn w * h\n}\n\nvar a = area(1, 2)\nvar b = area(3, 4)\n"


def project(files: dict[str, str], edited: str, old: str, new: str) -> tuple[Edit, Page, list[Page]]:
    """A project in which the first `old` of a file became `new`, and nothing else was done yet."""
    before = files[edited]
    assert old in before
    edit = Edit.between(edited, before, before.replace(old, new, 1))
    after = before.replace(old, new, 1)
    own = Page(edited, edited, after, languages.of(edited), tuple(edit.ranges()))
    others = [Page(path, path, text, languages.of(path)) for path, text in files.items() if path != edited]
    return edit, own, [own, *others]


def offered(files: dict[str, str], edited: str, old: str, new: str) -> dict[str, str]:
    """What is offered, without a model: "PATH:LINE" -> the line as it would be; lines that are certain end in `!`."""
    return _lines(learned(*project(files, edited, old, new)))


def _lines(found: list[Proposal]) -> dict[str, str]:
    return {
        f"{each.site.page.path}:{each.site.start + 1}": "".join(each.site.lines).strip() + "!" * each.site.certain
        for each in found
    }


class Contrary:
    """An engine to which what stands there is by far the likelier text, everywhere, or the other one is."""

    def __init__(self, likelier: float) -> None:
        self.likelier = likelier

    async def sites(self, body: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        for number in range(len(body["sites"])):
            new = {"with": -5.0 + self.likelier, "without": None, "tokens": 5}
            yield {"site": number, "text": {"with": -5.0, "without": None, "tokens": 5}, "candidates": [new]}


async def judged(likelier: float, files: dict[str, str], edited: str, old: str, new: str) -> dict[str, str]:
    engine = cast(Engine, Contrary(likelier))
    return _lines([each async for each in proposals(engine, *project(files, edited, old, new))])


RENAMED = ("httpx/_utils.py", "def unquote", "def strip_quotes")
FOLLOWS = {
    "httpx/_auth.py:1": "from ._utils import to_bytes, strip_quotes!",
    "httpx/_auth.py:6": "return {key: strip_quotes(value)}!",
}


@pytest.mark.parametrize("likelier", [-12.0, 12.0])
async def test_a_name_imported_from_elsewhere_is_another_one(likelier: float) -> None:
    """The standard library's `unquote` is used in one file, the project's in another, whatever a model thinks."""
    assert offered(HTTPX, *RENAMED) == FOLLOWS
    assert await judged(likelier, HTTPX, *RENAMED) == FOLLOWS


@pytest.mark.parametrize("likelier", [-12.0, 12.0])
async def test_a_renamed_parameter_is_renamed_in_its_function_and_nowhere_else(likelier: float) -> None:
    edit = ("httpx/_utils.py", "def to_bytes(value:", "def to_bytes(text:")
    body = {"httpx/_utils.py:10": "return text.encode(encoding) if isinstance(text, str) else text!"}
    assert offered(HTTPX, *edit) == body
    assert await judged(likelier, HTTPX, *edit) == body


@pytest.mark.parametrize("likelier", [-12.0, 12.0])
async def test_another_language_is_never_a_site(likelier: float) -> None:
    files = {"geo.py": GEO, "g.go": GO}
    assert await judged(likelier, files, "geo.py", "def area", "def surface") == {"geo.py:5": "print(surface(1, 2))!"}
    found = await judged(likelier, files, "g.go", "func area", "func surface")
    assert found == {"g.go:7": "var a = surface(1, 2)!", "g.go:8": "var b = surface(3, 4)!"}
    assert await judged(likelier, files, "geo.py", "area(width,", "area(w,") == {"geo.py:2": "return w * height!"}


DEFINED = "def load(path):\n    return path\n"
OTHER_BINDINGS = {
    "imported from another module": "from json import load\n\nprint(load(1))\n",
    "imported from a module of the same last name elsewhere": "from vendor.files import load\n\nprint(load(1))\n",
    "defined there": "def load(x):\n    return x\n\n\nprint(load(1))\n",
    "a method there": "class A:\n    def load(self):\n        return self.load()\n",
    "a parameter there": "from lib import files\n\n\ndef f(load):\n    return load(files)\n",
    "a variable of a function": "from lib.files import other\n\n\ndef f():\n    load = 1\n    return load\n",
    "shadowed in a function": "import json\n\n\ndef f():\n    from json import load\n\n    return load(1)\n",
    "a member of something else": "import pickle\n\nfrom lib import files\n\nprint(pickle.load(files))\n",
    "an attribute": "from lib import files\n\nfiles.x.load(1)\nself.load\n",
    "a keyword of another call": "from lib import files\n\nf(load=files)\n",
    "text of a file that knows nothing of it": 'x = "load"  # load it\n',
    "not bound at all": "print(load(1))\n",
    "another name of the module under this one": "from lib.files import other as load\n\nload(1)\n",
    "a variable named like the module": "import lib.files\n\n\ndef f(files):\n    return files.load(1)\n",
}


@pytest.mark.parametrize("text", OTHER_BINDINGS.values(), ids=OTHER_BINDINGS)
@pytest.mark.parametrize("likelier", [-12.0, 12.0])
async def test_the_same_name_bound_otherwise_is_left_alone(text: str, likelier: float) -> None:
    files = {"lib/files.py": DEFINED, "lib/other.py": text}
    assert await judged(likelier, files, "lib/files.py", "def load", "def read") == {}


PARTNERS = {
    "imported": ("from lib.files import load\n\nprint(load(1))\n", {1, 3}),
    "imported from beside": ("from .files import load\n\nprint(load(1))\n", {1, 3}),
    "imported under another name": ("from lib.files import load as get\n\nget(1)\n", {1}),
    "imported in a function": ("def f():\n    from lib.files import load\n\n    return load(1)\n", {2, 4}),
    "a member of the module": ("from lib import files\n\nfiles.load(1)\n", {3}),
    "a member of the module by its path": ("import lib.files\n\nlib.files.load(1)\n", {3}),
}


@pytest.mark.parametrize(("text", "lines"), PARTNERS.values(), ids=PARTNERS)
async def test_where_imports_decide_the_edit_follows_whatever_the_model_thinks(text: str, lines: set[int]) -> None:
    files = {"lib/files.py": DEFINED, "lib/other.py": text}
    found = await judged(-12.0, files, "lib/files.py", "def load", "def read")
    assert {int(place.rpartition(":")[2]) for place in found} == lines
    assert all(line.endswith("!") for line in found.values())


async def test_what_a_package_passes_on_follows_too() -> None:
    files = {
        "lib/files.py": DEFINED,
        "lib/__init__.py": "from .files import load\n",
        "app.py": "from lib import load\n",
    }
    found = await judged(12.0, files, "lib/files.py", "def load", "def read")
    assert found == {"lib/__init__.py:1": "from .files import read!", "app.py:1": "from lib import read!"}


async def test_where_the_new_name_means_something_else_it_is_not_certain() -> None:
    """There "all" would make one name of two."""
    files = {
        "lib/files.py": DEFINED,
        "lib/taken.py": "from lib.files import load\n\nread = open\nload(1)\n",
        "lib/inner.py": "from lib.files import load\n\n\ndef f(read):\n    return load(read)\n",
    }
    found = await judged(12.0, files, "lib/files.py", "def load", "def read")
    certain = {place for place, line in found.items() if line.endswith("!")}
    assert certain == {"lib/inner.py:1"}
    text = "def f(a):\n    def g(b):\n        return a + b\n\n    return a\n"
    found = await judged(12.0, {"a.py": text}, "a.py", "def f(a)", "def f(b)")
    assert {place for place, line in found.items() if line.endswith("!")} == {"a.py:5"}


CART = "class Cart:\n    def total(self):\n        return 1\n\n    def twice(self):\n        return 2 * self.total()\n"
MEMBERS = {
    "a declared variable": ("from cart import Cart\n\n\ndef f(cart: Cart, x):\n    return cart.total()\n", {5}),
    "a made one": ("from cart import Cart\n\ncart = Cart()\ncart.total()\n", {4}),
    "of another class there": (
        "from cart import Cart\n\n\nclass B:\n    def total(self):\n        pass\n\n\nx.total()\n",
        set[int](),
    ),
    "in a method of the same name": (
        "from cart import Cart\n\n\nclass B(Cart):\n    def total(self):\n        return self.cart.total()\n",
        set[int](),
    ),
}


@pytest.mark.parametrize(("text", "lines"), MEMBERS.values(), ids=MEMBERS)
def test_members_follow_the_declared_type(text: str, lines: set[int]) -> None:
    found = offered({"cart.py": CART, "a.py": text}, "cart.py", "def total", "def amount")
    assert found.pop("cart.py:6") == "return 2 * self.amount()!"
    assert {int(place.rpartition(":")[2]) for place in found} == lines
    assert not any(line.endswith("!") for line in found.values())


LOCALS = {
    "a parameter": ("def f(a):\n    b = a\n    return a + b\n\n\na = 1\n", "f(a)", "f(first)", {2, 3}),
    "a variable": (
        "def f():\n    total = 1\n    total += 2\n    return total\n\n\ntotal = 0\n",
        "total = 1",
        "n = 1",
        {3, 4},
    ),
    "a variable of a loop": ("def f(xs):\n    for x in xs:\n        print(x)\n", "for x in", "for each in", {3}),
    "a parameter that a name outside has": (
        "value = 1\n\n\ndef f(value):\n    return value\n",
        "f(value)",
        "f(a)",
        {5},
    ),
    "a keyword of its call": ("def f(fee):\n    pass\n\n\nf(fee=1)\ng(fee=1)\n", "def f(fee", "def f(cost", {5}),
}


@pytest.mark.parametrize(("text", "old", "new", "lines"), LOCALS.values(), ids=LOCALS)
@pytest.mark.parametrize("likelier", [-12.0, 12.0])
async def test_uses_of_a_local_name_are_syntax(text: str, old: str, new: str, lines: set[int], likelier: float) -> None:
    found = await judged(likelier, {"a.py": text}, "a.py", old, new)
    certain = {int(place.rpartition(":")[2]) for place, line in found.items() if line.endswith("!")}
    assert certain == lines == {int(place.rpartition(":")[2]) for place in found}


UNFINISHED = {
    "a letter too few": ("value = 1\nprint(value)\nprint(value + 1)\n", "print(value)", "print(valu)"),
    "a letter too many": ("value = 1\nprint(value)\nprint(value + 1)\n", "print(value)", "print(valuee)"),
    "a keyword": ("def f(a):\n    return a\n\n\ndef g(a):\n    return a\n", "return a", "rereturn a"),
    "a letter too many of a name from elsewhere": ("f(total(1))\nf(total(2))\n", "total(1)", "totall(1)"),
    "half a word of a name from elsewhere": ("f(total(1))\nf(total(2))\n", "total(1)", "total_s(1)"),
    "a member": ("def f(a):\n    a.total = 1\n    return a.total\n", "a.total = 1", "a.tot = 1"),
}


@pytest.mark.parametrize(("text", "old", "new"), UNFINISHED.values(), ids=UNFINISHED)
@pytest.mark.parametrize("likelier", [-12.0, 12.0])
async def test_a_word_that_is_not_finished_is_carried_nowhere(text: str, old: str, new: str, likelier: float) -> None:
    assert await judged(likelier, {"a.py": text}, "a.py", old, new) == {}


async def test_a_site_that_makes_the_syntax_worse_is_dropped() -> None:
    text = "total = sum(rows)\nprint(total)\ntotal = sum(rows)\n"
    assert await judged(12.0, {"a.py": text}, "a.py", "total = sum(rows)", "total = sum((rows)") == {}


async def test_a_name_that_is_a_keyword_elsewhere_goes_nowhere_there() -> None:
    files = {
        "fees.c": "int sum(int a) {\n    return a;\n}\nint f(void) {\n    return sum(1);\n}\n",
        "main.cpp": '#include "fees.h"\nint g() { return sum(1); }\n',
    }
    assert set(await judged(12.0, files, "fees.c", "int sum", "int total")) == {"fees.c:5", "main.cpp:2"}
    assert set(await judged(12.0, files, "fees.c", "int sum", "int template")) == {"fees.c:5"}


async def test_white_space_alone_teaches_nothing() -> None:
    text = (
        "def first():\n    start_the_engine()\n    use_it()\n\n\ndef second():\n    start_the_engine()\n    use_it()\n"
    )
    assert await judged(12.0, {"a.py": text}, "a.py", "engine()\n", "engine()\n\n") == {}


SCRIPTS = {
    "shop/cart.ts": "export function add(a: number) {\n  return a;\n}\n",
    "shop/app.ts": 'import { add } from "./cart";\n\nadd(1);\nother.add(2);\n',
    "shop/sum.ts": 'import { add } from "lodash";\n\nadd(1);\n',
    "shop/index.ts": 'export { add } from "./cart";\n',
    "web/page.ts": 'import { add } from "../shop/cart.js";\n\nfunction f(add: number) {\n  return add;\n}\nadd(3);\n',
}


async def test_imports_of_typescript_decide_too() -> None:
    found = await judged(-12.0, SCRIPTS, "shop/cart.ts", "function add", "function append")
    assert sorted(found) == ["shop/app.ts:1", "shop/app.ts:3", "shop/index.ts:1", "web/page.ts:1", "web/page.ts:6"]
    assert all(line.endswith("!") for line in found.values())


DEFAULTS = {
    "the default export": ("export default function add() {}\n", {1, 3}),
    "another default export": ("export function add() {}\nexport default class A {}\n", set[int]()),
}


@pytest.mark.parametrize(("cart", "lines"), DEFAULTS.values(), ids=DEFAULTS)
async def test_a_default_import_is_what_the_module_exports_as_a_whole(cart: str, lines: set[int]) -> None:
    files = {"cart.ts": cart, "app.ts": 'import add from "./cart";\n\nadd();\n'}
    found = await judged(12.0, files, "cart.ts", "function add", "function append")
    assert {int(place.rpartition(":")[2]) for place in found} == lines


async def test_an_index_passes_a_name_on() -> None:
    files = {
        "shop/cart.ts": "export function add() {}\n",
        "shop/index.ts": 'export { add } from "./cart";\n',
        "app.ts": 'import { add } from "./shop";\n\nadd();\n',
    }
    found = await judged(-12.0, files, "shop/cart.ts", "function add", "function append")
    assert sorted(found) == ["app.ts:1", "app.ts:3", "shop/index.ts:1"]
    assert all(line.endswith("!") for line in found.values())


CRATE = {
    "src/fees.rs": "pub fn sum() -> u8 {\n    1\n}\n",
    "src/main.rs": "use crate::fees::{self, sum};\n\nfn f() -> u8 {\n    sum() + fees::sum()\n}\n",
    "src/bank.rs": "use std::iter::sum;\n\nfn f() -> u8 {\n    sum()\n}\n",
}


async def test_imports_of_rust_decide_too() -> None:
    found = await judged(-12.0, CRATE, "src/fees.rs", "fn sum", "fn total")
    assert sorted(found) == ["src/main.rs:1", "src/main.rs:4"]


KEYS = {
    "JavaScript": (
        "a.js",
        "function f(width) {\n  draw({ width, height: width });\n  return width;\n}\n",
        {2: "draw({ width: w, height: w });!", 3: "return w;!"},
    ),
    "Rust": (
        "a.rs",
        "fn f(width: u8) -> Box {\n    check(width);\n    Box { width, height: 1 }\n}\n",
        {2: "check(w);!", 3: "Box { width: w, height: 1 }!"},
    ),
}


@pytest.mark.parametrize(("path", "text", "wanted"), KEYS.values(), ids=KEYS)
async def test_a_key_stays_where_its_value_is_renamed(path: str, text: str, wanted: dict[int, str]) -> None:
    found = await judged(-12.0, {path: text}, path, "f(width", "f(w")
    assert {int(place.rpartition(":")[2]): line for place, line in found.items()} == wanted


async def test_whole_words_rename_a_name_from_elsewhere() -> None:
    text = "int f(void) {\n    return total(1) + g(total(2));\n}\nint g(int a) {\n    return total(a);\n}\n"
    found = offered({"a.c": text}, "a.c", "return total(1) + g(total(2))", "return total_sum(1) + g(total_sum(2))")
    assert found == {"a.c:5": "return total_sum(a);"}


async def test_in_a_text_that_is_one_error_only_what_is_local_is_certain() -> None:
    text = "fn area(w: u8) -> u8 {\n    w\n}\n\nfn f(v: u8) {\n    area(v);\n    let w = v;\n"
    page = Page("a.rs", "a.rs", text, languages.of("a.rs"))
    assert page.names
    assert page.names.is_broken
    assert offered({"a.rs": text}, "a.rs", "fn area", "fn surface") == {"a.rs:6": "surface(v);"}
    assert offered({"a.rs": text}, "a.rs", "area(w:", "area(width:") == {"a.rs:2": "width!"}


async def test_a_member_follows_in_a_part_of_its_class() -> None:
    text = (
        "    boolean isOpen() {\n        return a;\n    }\n    boolean isShut() {\n        return !isOpen();\n    }\n"
    )
    assert offered({"A.java": text}, "A.java", "boolean isOpen", "boolean hasOpened") == {
        "A.java:5": "return !hasOpened();"
    }


METHODS = {
    "app.py": """from shop import rules
from shop.models import Order, Rule


class Cart:
    def total(self, order: Order, rule, orders):
        return rules.total(order) + order.total() + rule.total() + Order.total(order)
""",
    "shop/models.py": """class Order:
    def total(self):
        return 1


class Rule:
    def total(self):
        return 2
""",
    "shop/rules.py": "def total(order):\n    return order.total()\n",
}


def test_members_of_modules_and_other_classes_are_others() -> None:
    found = offered(METHODS, "shop/models.py", "def total", "def amount")
    assert found == {}


CONSTRUCTED = {
    "a field": ("class A:\n    size: int\n\n\nA(size=1)\n", "size: int", {5}),
    "a method": ("class A:\n    def size(self):\n        return 1\n\n\nA(size=1)\n", "size(self)", set[int]()),
    "a field beside a constructor": (
        "class A:\n    size: int\n\n    def __init__(self, size):\n        pass\n\n\nA(size=1)\n",
        "size: int",
        set[int](),
    ),
}


@pytest.mark.parametrize(("text", "old", "lines"), CONSTRUCTED.values(), ids=CONSTRUCTED)
def test_what_a_class_is_called_with(text: str, old: str, lines: set[int]) -> None:
    found = offered({"a.py": text}, "a.py", old, old.replace("size", "length"))
    assert {int(place.rpartition(":")[2]) for place in found if found[place].startswith("A(")} == lines


TESTS = """def test_one(client):
    assert client.get(1)


def test_two(client, path):
    assert client.get(path)


def test_three():
    client = make()
    assert client


def connect(client):
    return client
"""


def test_fixtures_follow_in_other_tests_one_by_one() -> None:
    found = offered({"test_a.py": TESTS}, "test_a.py", "test_one(client)", "test_one(api_client)")
    assert found == {
        "test_a.py:2": "assert api_client.get(1)!",
        "test_a.py:5": "def test_two(api_client, path):",
        "test_a.py:6": "assert api_client.get(path)",
    }
    assert set(offered({"test_a.py": TESTS}, "test_a.py", "client = make()", "api_client = make()")) == {"test_a.py:11"}
