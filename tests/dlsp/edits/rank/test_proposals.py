"""What the model's numbers do to a site: they can speak for it and against it."""

import math
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest

from bench.edits.rows import PatientPage
from dlsp.edits.history.edit import Edit
from dlsp.edits.rank.proposals import judged, proposals, request
from dlsp.edits.rank.sites import sites
from dlsp.edits.rank.weights import WEIGHTS
from dlsp.edits.search.page import Page, Site
from dlsp.engine.client import Engine
from dlsp.syntax import languages
from dlsp_engine.serve.sites import parse_sites
from tests.dlsp.ignore.planted import LINES

PAGE = Page("u", "a.py", "print(late_fee(1))\n")


def site(odds: float) -> Site:
    return Site(PAGE, 0, ("print(late_fee(1))\n",), ("print(overdue_fee(1))\n",), odds)


def event(likelier: float) -> dict[str, Any]:
    old = {"with": -5.0, "without": None, "tokens": 5}
    return {"site": 0, "text": old, "candidates": [{"with": -5.0 + likelier, "without": None, "tokens": 5}]}


def test_the_model_may_turn_the_evidence() -> None:
    doubtful = WEIGHTS.asked_from + 0.1
    assert judged(site(doubtful), event(-12)) is None
    sure = judged(site(WEIGHTS.sure_from), event(12))
    assert sure
    less = judged(site(WEIGHTS.sure_from), event(0))
    assert less is None or less.confidence < sure.confidence


class Asked:
    """An engine that is asked how likely texts are; all candidates are as likely as it says."""

    def __init__(self, likelier: float) -> None:
        self.likelier = likelier
        self.bodies: list[dict[str, Any]] = []

    async def sites(self, body: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        self.bodies.append(body)
        for number in range(len(body["sites"])):
            yield {**event(self.likelier), "site": number}


async def confidences(engine: Asked) -> list[float]:
    """Of places where neither scopes nor imports say whether the method is the one that was renamed."""
    before = "class A:\n    def late_fee(self):\n        pass\n\n\n"
    before += "".join(f"x = box.late_fee({n})\n" for n in range(20))
    edit = Edit.between("a.py", before, after := before.replace("def late", "def overdue"))
    own = Page("u", "a.py", after, languages.of("a.py"), tuple(edit.ranges()))
    return [each.confidence async for each in proposals(cast(Engine, engine), edit, own, [own])]


async def test_sites_are_asked_for_together_and_the_model_counts() -> None:
    agrees, disagrees = Asked(12), Asked(-12)
    sure = await confidences(agrees)
    assert len(sure) == 20
    assert max(await confidences(disagrees), default=0.0) < min(sure)
    (first, *_) = agrees.bodies
    assert len(first["sites"]) > 1
    assert "-    def late_fee(self):\n+    def overdue_fee(self):\n" in first["edit"][0]["text"]
    assert first["sites"][0]["text"].startswith("x = box.late_fee(")


def test_the_engine_takes_what_it_is_asked_beside_long_lines() -> None:
    """One site too many characters, and it would refuse to judge them all."""
    long = "x = [" + "0, " * 12_000 + "]\n"
    before = long + "late_fee = 1\n" + long + "x = 1\n" * 3 + long + "print(late_fee)\n" + long
    edit = Edit.between("a.py", before, after := before.replace("late_fee = 1", "overdue_fee = 1"))
    python = languages.of("a.py")
    assert python
    own = PatientPage("u", "a.py", after, python, tuple(edit.ranges()))
    text = "from a import late_fee\n" + "late_fee()\n" * 6 + f"a = [{'0, ' * 9_000} late_fee]\n"
    other = PatientPage("v", "b.py", text, python)
    found = sites(edit, own, [own, other], seconds=math.inf)
    assert len(found) == 8
    body = request(edit, found)
    assert len(parse_sites(body).asked) == 8
    assert "-late_fee = 1\n+overdue_fee = 1\n" in body["edit"][0]["text"]
    assert sum(len(each["prefix"]) + len(each["suffix"]) for each in body["sites"]) < 8 * 5_000


@pytest.mark.parametrize("kind", LINES)
def test_no_secret_of_the_edited_file_is_in_a_request(kind: str) -> None:
    """Neither one that was typed nor one that stands beside the edit."""
    line, value = LINES[kind]
    before = f"{line}\nprint(late_fee(1))\n"
    for after in (before.replace("late_fee", "overdue_fee"), f"print(late_fee(1))\n{line}\n"):
        asked = request(Edit.between("b.py", before, after), [site(1.0)])
        assert value not in str(asked)
        assert "late_fee" in asked["edit"][0]["text"]
