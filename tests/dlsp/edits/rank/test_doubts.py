"""What other language servers say of a rename decides where scopes and imports do not."""

import re

import pytest

from dlsp.edits.history.edit import Edit
from dlsp.edits.rank.doubts import Doubts, Place, doubts, settle
from dlsp.edits.rank.sites import sites
from dlsp.edits.search.page import Page
from dlsp.syntax import languages

CART = """class Cart:
    def __init__(self):
        self.total = 0

    def add(self, fee):
        self.total = self.total + fee


class Bill:
    def total(self):
        return 0


def begun():
    return Cart()
"""
SHOWN = """from cart import begun, billed

cart = begun()
print(cart.total)
print(billed().total)
"""


def made(before: str, after: str, *others: str) -> tuple[Edit, list[Page]]:
    edit = Edit.between("cart.py", before, after)
    python = languages.LANGUAGES[0]
    own = Page("cart.py", "cart.py", after, python, tuple(edit.ranges()))
    return edit, [own, *(Page(f"{number}.py", f"{number}.py", text, python) for number, text in enumerate(others))]


def places(page: Page, name: str) -> list[Place]:
    return [Place(page.uri, match.start()) for match in re.finditer(rf"\b{name}\b", page.text)]


def offered(edit: Edit, pages: list[Page]) -> dict[str, bool]:
    """The lines that may follow, as they would be, and whether they are certain to."""
    return {"".join(site.lines).strip(): site.certain for site in sites(edit, pages[0], pages)}


def asked(edit: Edit, pages: list[Page]) -> Doubts:
    found = doubts(edit, pages[0], pages)
    assert found
    return found


def test_an_attribute_that_is_set_elsewhere_too_is_renamed_from_there() -> None:
    edit, pages = made(CART, CART.replace("self.total = 0", "self.sum = 0"), SHOWN)
    first, second, other = places(pages[0], "total")
    cart, bill = places(pages[1], "total")
    found = asked(edit, pages)
    assert found.kept == first
    settle(found, pages, {first, second, cart}, [])
    assert offered(edit, pages) == {"self.sum = self.sum + fee": True, "print(cart.sum)": True}
    assert other.offset not in pages[0].told
    assert bill.offset not in pages[1].told


def test_without_an_answer_nothing_changes() -> None:
    edit, pages = made(CART, CART.replace("self.total = 0", "self.sum = 0"), SHOWN)
    before, found = offered(edit, pages), asked(edit, pages)
    settle(found, pages, set(), [])
    settle(found, pages, {places(pages[1], "total")[0]}, [set() for _ in found.open])
    assert offered(edit, pages) == before


LOADER = """class Loader:
    def release(self):
        pass


def use(thing, other):
    thing.release()
    other.release()
"""
RENAMED = LOADER.replace("def release", "def free")


def test_a_member_of_something_else_is_not_offered() -> None:
    edit, pages = made(LOADER, RENAMED)
    thing, other = places(pages[0], "release")
    found = asked(edit, pages)
    assert (found.kept, found.open) == (None, (thing, other))
    assert offered(edit, pages).keys() == {"thing.free()", "other.free()"}
    library = Place("lib.py", -1)
    settle(found, pages, set(), [set(), {other, library}])
    assert offered(edit, pages).keys() == {"thing.free()"}


@pytest.mark.parametrize("of", ["itself alone", "another place", "what must follow", "an import", "a class below it"])
def test_references_that_decide_nothing(of: str) -> None:
    edit, pages = made(
        LOADER.replace("pass", "self.release()"),
        RENAMED.replace("pass", "self.release()"),
        "from cart import release\n",
        "class Lazy(Loader):\n    def use(self):\n        self.release()\n",
    )
    certain, thing, other = places(pages[0], "release")
    found = asked(edit, pages)
    assert found.certain == {certain}
    assert found.open[:2] == (thing, other)
    answers = {
        "itself alone": {thing},
        "another place": {other, Place("lib.py", -1)},
        "what must follow": {thing, certain},
        "an import": {thing, *places(pages[1], "release")},
        "a class below it": {thing, *places(pages[2], "release")},
    }
    settle(found, pages, set(), [answers[of]])
    assert "thing.free()" in offered(edit, pages)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f():\n    fee = 1\n    return fee\n", "def f():\n    cost = 1\n    return fee\n"),
        ("def fee():\n    pass\n\n\nfee()\nx.fee()\n", "def fee():\n    pass\n\n\ncost()\nx.fee()\n"),
        ("x = 1\ny.fee(x)\n", "x = 2\ny.fee(x)\n"),
        (LOADER, LOADER.replace("def release", "def (release")),
    ],
)
def test_nothing_is_asked(before: str, after: str) -> None:
    """About a local variable, after a change of one use alone, without a rename, and while the text is broken."""
    edit, pages = made(before, after)
    assert doubts(edit, pages[0], pages) is None
