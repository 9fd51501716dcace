"""What other language servers report in the user's own lines, and the only fix that there is."""

import math
import re

import pytest

from dlsp.edits.history.edit import Edit
from dlsp.edits.history.hunks import Hunk, applied
from dlsp.edits.rank.proposals import learned
from dlsp.edits.search.page import Error, Page
from dlsp.syntax import languages

SHOP = (
    '"""Prices."""\n\nimport re\nfrom pathlib import Path\n\nfrom .cart import Cart\n\n\n'
    "def total(path: Path) -> int:\n    return Cart(path).total\n\n\n"
)
USE = "def load(text: str) -> Cart:\n    return Cart(json.loads(text))\n"


def mended(before: str, after: str, *others: tuple[str, str], message: str = '"{}" is not defined') -> str | None:
    """`shop/prices.py` after all that is offered there; None for nothing. `«»` marks what is reported."""
    names = re.findall("«(.*?)»", after)
    offsets = [match.start() - 2 * number for number, match in enumerate(re.finditer("«", after))]
    errors = tuple(Error(at, message.format(name)) for at, name in zip(offsets, names, strict=True))
    after = re.sub("[«»]", "", after)
    edit = Edit.between("shop/prices.py", before, after)
    python = languages.of("a.py")
    own = Page("own", "shop/prices.py", after, python, tuple(edit.ranges()), errors=errors)
    pages = [own, *(Page(path, path, text, languages.of(path)) for path, text in others)]
    found = [each for each in learned(edit, own, pages, math.inf) if each.site.page is own]
    assert all(not each.certain for each in found)
    return "".join(applied(own.lines, [each.hunk for each in found])) if found else None


def added(before: str, line: str, *others: tuple[str, str], name: str = "json") -> str | None:
    """The lines that are offered for a file in which a name is unknown at its end."""
    found = mended(before, f"{before}{line.replace(name, f'«{name}»')}\n", *others)
    lines = (found or "").splitlines()
    new = [each for each in lines if each not in before.splitlines() and each != line]
    return "\n".join(new) if found else None


MANY = "from a import (\n    b,\n{}    z,\n)\n"
OTHER = ("shop/orders.py", "import json\n\nprint(json)\n")


def test_the_import_of_another_file_goes_where_imports_are_sorted() -> None:
    after = SHOP + USE.replace("json", "«json»")
    assert mended(SHOP, after, OTHER) == (SHOP + USE).replace("import re\n", "import json\nimport re\n")


@pytest.mark.parametrize(
    ("header", "imported", "wanted"),
    [
        ("import re\n", "import json", "import json\nimport re\n"),
        ("from re import match\n", "import json", "import json\nfrom re import match\n"),
        ("import abc\nfrom re import match\n", "import json", "import abc\nimport json\nfrom re import match\n"),
        ("import a\n", "import json", "import json\n\nimport a\n"),
        ("import re\n\nimport b\n", "import a as json", "import re\n\nimport a as json\nimport b\n"),
        ("import re\n", "import a as json", "import re\n\nimport a as json\n"),
        ("from a import b, z\n", "from a import json", "from a import b, json, z\n"),
        ("from a import z, b\n", "from a import json", "from a import z, b, json\n"),
        (
            "from a import b\nfrom a import z\n",
            "from a import json",
            "from a import b\nfrom a import z\nfrom a import json\n",
        ),
        ("from a import A, Z\n", "from a import json", "from a import A, Z, json\n"),
        (MANY.format(""), "from a import json", MANY.format("    json,\n")),
        ("from a import (\n    b,\n)\n", "from a import json", "from a import (\n    b,\n    json,\n)\n"),
        ("from a import *\n", "from a import json", "from a import *\nfrom a import json\n"),
        ("from a import b\n", "from a import json as json", "from a import b, json\n"),
        ("from a import b\n", "from a import c as json", "from a import b\nfrom a import c as json\n"),
        ('"""Text."""\n', "import json", '"""Text."""\n\nimport json\n'),
        ("# Text.\n", "import json", "# Text.\n\nimport json\n"),
        ("from .b import c\n", "from .a import json", "from .a import json\nfrom .b import c\n"),
        ("import re\n", "from .a import json", "import re\n\nfrom .a import json\n"),
        ("from shop.b import c\n", "from .a import json", "from shop.a import json\nfrom shop.b import c\n"),
        ("import re\r\n", "import json", "import json\r\nimport re\r\n"),
    ],
)
def test_the_manner_of_the_files_imports(header: str, imported: str, wanted: str) -> None:
    ending = "\r\n" if "\r\n" in header else "\n"
    rest = f"{ending}x = 1{ending}"
    after = f"{header}{rest}y = «json»(x){ending}"
    own = mended(header + rest, after, ("shop/orders.py", f"{imported}\n\nprint(json)\n"))
    assert own == wanted + rest + f"y = json(x){ending}"


def test_a_long_line_of_imports_is_split() -> None:
    names = ", ".join(f"name_number_{number}" for number in range(6))
    before = f"from a import {names}\n\nx = 1\n"
    lines = "".join(f"    {name},\n" for name in sorted([*names.split(", "), "json"]))
    found = mended(before, before + "y = «json»\n", ("shop/b.py", "from a import json\n"))
    assert found == f"from a import (\n{lines})\n\nx = 1\ny = json\n"


@pytest.mark.parametrize(
    ("others", "wanted"),
    [
        ([], None),
        ([("shop/a.py", "from json import loads\n")], None),
        ([("shop/a.py", "def json(): ...\n")], "from shop.a import json"),
        ([("shop/a.py", "json = 1\n")], None),
        ([("shop/a.py", "def json(): ...\n"), ("shop/b.py", "def json(): ...\n")], None),
        ([("shop/a.py", "def json(): ...\n"), ("shop/b.py", "from .a import json\n")], "from .a import json"),
        ([("shop/a.py", "import json\n"), ("tests/b.py", "import ujson as json\n")], "import json"),
        ([("shop/a.py", "import json\n"), ("shop/b.py", "import ujson as json\n")], None),
        ([("tests/a.py", "import json\n"), ("tests/b.py", "import json\n")], "import json"),
        ([("shop/a.py", "import json.decoder\n")], None),
        ([("tests/a.py", "from ..lib.text import json\n")], "from lib.text import json"),
        ([("shop/in/a.py", "from ..b import json\n")], "from .b import json"),
        ([("shop/a.go", "import json\n")], None),
        ([("shop/a.py", "from a import json\n"), ("shop/b.py", "from a.json import json\n")], "from a import json"),
        ([("shop/a.py", "from a import json\n"), ("shop/b.py", "from b import json\n")], None),
        ([("shop/prices_too.py", "from .prices import json\n")], None),
    ],
)
def test_only_where_one_import_is_meant(others: list[tuple[str, str]], wanted: str | None) -> None:
    assert added("x = 1\n\n\n", "y = json(x)", *others) == wanted


def test_names_that_the_edit_did_not_write_stay() -> None:
    before = SHOP + USE
    after = before.replace("return Cart(path).total", "return Cart(path).total + 1").replace("json", "«json»")
    assert mended(before, after, OTHER) is None


def test_an_import_that_was_taken_away_is_not_brought_back() -> None:
    before = "import json\n\nprint(json)\n"
    assert mended(before, "\nprint(«json», 1)\n", OTHER) is None


NAMES = "def total(prices, discount):\n    amount = sum(prices)\n"


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("return ammount - discount", "return amount - discount"),
        ("return amuont - discount", "return amount - discount"),
        ("return amount - discuont", "return amount - discount"),
        ("return amount - dsicuont", "return amount - discount"),
        ("return totl(prices) + amount", "return total(prices) + amount"),
        ("pritn(amount)", "print(amount)"),
        ("return amout - disconut", "return amount - discount"),
        ("return amount_2 - discount", None),
        ("return Amount - discount", None),
        ("return count - discount", None),
        ("return amount - price_list", None),
        ("return amoun", None),
        ("return amoun - discount", "return amount - discount"),
    ],
)
def test_the_name_in_scope_that_was_meant(written: str, right: str | None) -> None:
    known = {"return", "amount", "discount", "prices", "total", "print", "sum"}
    marked = re.sub(r"\w+", lambda match: match[0] if match[0] in known else f"«{match[0]}»", written)
    found = mended(NAMES, f"{NAMES}    {marked}\n")
    assert found == (f"{NAMES}    {right}\n" if right else None)


@pytest.mark.parametrize(
    "text",
    [
        "def a():\n    amount = 1\n\n\ndef b():\n    return «amuont»\n",
        "amount1 = amounts = 1\nx = «amount»\n",
        "a = 1\nx = «aa»\n",
        "class A:\n    amount = 1\n\n    def f(self):\n        return «amuont» + 1\n",
    ],
    ids=["out of scope", "two of them", "too short", "a class's own"],
)
def test_no_name_is_offered_that_is_not_the_only_one_in_scope(text: str) -> None:
    before = re.sub("[^\\n]*«.*\\n", "", text)
    assert mended(before, text) is None


def test_a_name_that_the_edit_replaced_is_not_brought_back() -> None:
    before = NAMES + "    return amount\n"
    assert mended(before, NAMES + "    return «amounts»\n") is None


def test_what_is_reported_of_something_else_is_no_unknown_name() -> None:
    after = NAMES + "    return «amuont»\n"
    assert mended(NAMES, after, message="Operator not supported") is None
    assert mended(NAMES, after.replace("amuont", "amount")) is None, "it is known now"


AREA = "def area(width, height, unit=1):\n    return width * height * unit\n\n\n"
CALLS = "area(1, 2{})\n{}area(3, 4{}){}\nprint(area(5, 6))\n"


def test_calls_that_are_reported_get_the_argument_and_no_others() -> None:
    after = AREA + CALLS.format(", cm", "«", "", "»")
    found = mended(AREA + CALLS.format("", "", "", ""), after, message="Argument missing for parameter {}")
    assert found == AREA + CALLS.format(", cm", "", ", cm", "")


def test_what_is_wrong_with_a_call_is_no_unknown_name() -> None:
    after = "def f(b):\n    «flush»(b)\n"
    assert mended("def f(b):\n    pass\n", after, message='Argument missing for parameter "flush"') is None


def fixed_by_server(fix: Hunk) -> list[tuple[str, ...]]:
    """What is offered for a line with an unknown name, if the server that reports it would change this."""
    before, after = "x = 1\nfoo = 1\n", "x = 1\nfoo = 1\ny = fooo + 1\n"
    edit = Edit.between("a.py", before, after)
    errors = (Error(after.index("fooo"), '"fooo" is not defined', fix),)
    own = Page("own", "a.py", after, languages.of("a.py"), tuple(edit.ranges()), errors=errors)
    return [each.hunk.lines for each in learned(edit, own, [own], math.inf)]


def test_what_the_server_prefers_comes_first() -> None:
    assert fixed_by_server(Hunk(0, 0, ("from a import fooo\n",))) == [("from a import fooo\n",)]


def test_what_the_server_prefers_is_dropped_where_it_breaks_the_syntax() -> None:
    assert fixed_by_server(Hunk(2, 3, ("y = (foo + 1\n",))) == []
