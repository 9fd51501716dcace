"""What becomes of the engine's answers: no harm, nothing twice, and a gate. The engine is scripted;
`tests/e2e/test_edits_real.py` asks the real one."""

import asyncio
import math
import random
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest

import dlsp.edits.rewrite.written as module
from dlsp.edits.history.edit import Edit
from dlsp.edits.history.hunks import applied
from dlsp.edits.rank.weights import WEIGHTS
from dlsp.edits.rewrite.formats import FORMATS
from dlsp.edits.rewrite.windows import Window
from dlsp.edits.rewrite.written import changed, next_edits, written
from dlsp.edits.search.page import Page
from dlsp.syntax import languages

BEFORE = "import os\n\n\ndef fee(a):\n    return a\n\n\nx = 1\nprint(fee(1))\ny = fee(x)\n"
AFTER = BEFORE.replace("def fee(a):", "def fee(a, b):")


class Scripted:
    """An engine that changes the window's texts as told: pairs of an old and a new text."""

    def __init__(
        self, *changes: tuple[str, str], doubt: float = 2.0, wait_s: float = 0.0, taught: str = "dlsp"
    ) -> None:
        self.changes, self.doubt, self.wait_s, self.taught = changes, doubt, wait_s, taught
        self.asked: list[dict[str, Any]] = []

    async def edit_format(self) -> str:
        return self.taught

    async def sites(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        for number, site in enumerate(request["sites"]):
            likely = {"with": -5.0, "without": None, "tokens": 5}
            yield {"site": number, "text": likely, "candidates": [likely] * len(site["candidates"])}

    async def rewrite(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        self.asked.append(request)
        for number, window in enumerate(request["windows"]):
            await asyncio.sleep(self.wait_s)
            found = [(window["text"].index(old), old, new) for old, new in self.changes if old in window["text"]]
            changes = [
                {"start": at, "end": at + len(old), "text": new, "log_p": -0.5} for at, old, new in sorted(found)
            ]
            yield {"window": number, "changes": changes, "reason": "window", "doubt": self.doubt, "doubted": 0}


def edited(before: str = BEFORE, after: str = AFTER) -> tuple[Edit, Page]:
    edit = Edit.between("a.py", before, after)
    return edit, Page("u", "a.py", after, languages.of("a.py"), tuple(edit.ranges()))


async def lines(engine: Scripted) -> list[tuple[str, ...]]:
    return [site.lines async for site, _ in written(engine, *edited())]


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """More likely the more a window is doubted; even odds at 2 nats."""
    weights = tuple({"always": -2.0, "doubt": 8.0}.get(name, 0.0) for name in module.NUMBERS)
    monkeypatch.setattr(module, "WEIGHTS", replace(WEIGHTS, written=weights, written_from=0.0))


async def test_lines_that_the_model_writes_are_sites() -> None:
    assert await lines(Scripted(("fee(1)", "fee(1, 2)"), ("fee(x)", "fee(x, 2)"))) == [
        ("print(fee(1, 2))\n", "y = fee(x, 2)\n")
    ]


async def test_lines_that_are_only_spaced_anew_stay() -> None:
    old = "x = 1\nprint(fee(1))\ny = fee(x)\n"
    new = "x = 2\nprint(fee(1)) \ny = fee(x, 2)\n"
    assert await lines(Scripted((old, new))) == [("x = 2\n",), ("y = fee(x, 2)\n",)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def fee(a, b)", "def fee(a)"),
        ("x = 1\n", "x = 1\n\n"),
        ("print(fee(1))", "print(fee(1)"),
        ("x = 1\n", 'x = "ghp_0123456789abcdefghijABCDEFGHIJ012345"\n'),
    ],
    ids=["the user's own lines", "white space alone", "a tree that gets worse", "a secret from elsewhere"],
)
async def test_what_would_do_harm_is_no_site(old: str, new: str) -> None:
    assert await lines(Scripted((old, new))) == []


async def test_nothing_follows_an_edit_that_is_not_finished() -> None:
    engine = Scripted(("fee(1)", "fee(1, 2)"))
    unfinished = edited(BEFORE, BEFORE.replace("def fee(a):", "dedef fee(a, b):"))
    assert [site async for site, _ in written(engine, *unfinished)] == []
    assert engine.asked == []


async def test_a_text_that_ends_early_takes_nothing_away() -> None:
    window = Window(edited()[1], 7, 10)
    event = {"changes": [{"start": 6, "end": len(window.text), "text": ""}], "reason": "end"}
    assert changed(window, event) == []
    assert changed(window, event | {"reason": "window"}) != []


def test_hunks_applied_to_the_page_are_the_changes_applied_to_the_window() -> None:
    rng = random.Random(0)
    for _ in range(300):
        text = "".join(rng.choices(["a\n", "b = 1\n", "\n", "é\r\n", "c"], k=12))
        page = Page("u", "a.txt", text)
        start = rng.randrange(len(page.lines))
        window = Window(page, start, rng.randrange(start + 1, len(page.lines) + 1))
        places = sorted(rng.sample(range(len(window.text) + 1), k=min(4, len(window.text) // 2 * 2)))
        changes = [
            {"start": first, "end": last, "text": rng.choice(["", "x", "y\n"])}
            for first, last in zip(places[::2], places[1::2], strict=True)
        ]
        new, at = "", 0
        for each in changes:
            new, at = new + window.text[at : each["start"]] + each["text"], each["end"]
        new += window.text[at:]
        found = changed(window, {"changes": changes, "reason": "window"})
        whole = "".join(page.lines[: window.start]) + new + "".join(page.lines[window.end :])
        assert "".join(applied(page.lines, found)) == whole


@pytest.mark.usefixtures("gate")
async def test_the_gate_lets_through_what_is_doubted_enough() -> None:
    edit, own = edited()
    for doubt, shown in ((1.0, 0), (4.0, 1)):
        engine = Scripted(("x = 1", "x = 2"), doubt=doubt)
        found = [each async for each in next_edits(engine, edit, own, [own])]
        mine = [each for each in found if each.hunk.lines == ("x = 2\n",)]
        assert len(mine) == shown
        assert all(0.5 < each.confidence < 1 and not each.certain for each in mine)


@pytest.mark.usefixtures("gate")
async def test_no_line_is_offered_twice() -> None:
    edit, own = edited(BEFORE, BEFORE.replace("def fee", "def cost"))
    engine = Scripted(("fee(1)", "cost(1)"), ("fee(x)", "other(x)"), ("x = 1", "x = 2"), doubt=8.0)
    found = [each async for each in next_edits(engine, edit, own, [own])]
    rows = [row for each in found for row in range(each.hunk.start, each.hunk.end)]
    assert len(rows) == len(set(rows))
    assert ("print(cost(1))\n",) in [each.hunk.lines for each in found]
    assert ("y = other(x)\n",) not in [each.hunk.lines for each in found], "the rename is certain there"


@pytest.mark.usefixtures("gate")
async def test_what_comes_too_late_is_not_waited_for() -> None:
    engine = Scripted(("x = 1", "x = 2"), doubt=8.0, wait_s=60)
    edit, own = edited()
    await asyncio.wait_for(_all(engine, edit, own), 30)


async def _all(engine: Scripted, edit: Edit, own: Page) -> None:
    assert not [each async for each in next_edits(engine, edit, own, [own], 0.05) if each.hunk.lines == ("x = 2\n",)]


@pytest.mark.usefixtures("gate")
async def test_a_model_that_was_not_taught_to_write_edits_is_not_asked() -> None:
    edit, own = edited()
    engine = Scripted(("x = 1", "x = 2"), doubt=8.0, taught="")
    assert [each async for each in next_edits(engine, edit, own, [own]) if each.hunk.lines == ("x = 2\n",)] == []
    assert engine.asked == []


async def test_without_a_gate_the_model_is_not_asked_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WEIGHTS", replace(WEIGHTS, written_from=None))
    edit, own = edited()
    engine = Scripted(("x = 1", "x = 2"), doubt=8.0)
    assert [each async for each in next_edits(engine, edit, own, [own]) if each.hunk.lines == ("x = 2\n",)] == []
    assert engine.asked == []


@pytest.mark.parametrize("form", ["sweep", "zeta1", "zeta2", "zeta2.1"])
async def test_a_model_that_others_taught_needs_no_gate_and_says_how_sure_it_is(form: str) -> None:
    edit, own = edited()
    engine = Scripted(("x = 1", "x = 2"), taught=form)
    found = [each async for each in next_edits(engine, edit, own, [own])]
    (mine,) = [each for each in found if each.hunk.lines == ("x = 2\n",)]
    assert mine.confidence == pytest.approx(math.exp(-0.5))
    assert not mine.certain
    (asked,) = engine.asked
    assert "force" not in asked
    assert asked["windows"][0]["before"].startswith("import os\n\n\ndef fee(a):\n")


async def test_a_model_of_an_unknown_format_is_not_asked() -> None:
    edit, own = edited()
    engine = Scripted(("x = 1", "x = 2"), taught="zeta9")
    assert [each async for each in next_edits(engine, edit, own, [own]) if each.hunk.lines == ("x = 2\n",)] == []
    assert engine.asked == []


@pytest.mark.parametrize("form", ["sweep", "zeta1", "zeta2", "zeta2.1"])
async def test_what_would_do_harm_is_no_site_whoever_taught_the_model(form: str) -> None:
    edit, own = edited()
    harm = ("def fee(a, b)", "def fee(a)"), ("x = 1\n", "x = 1\n\n"), ("print(fee(1))", "print(fee(1)")
    for change in harm:
        engine = Scripted(change, taught=form)
        assert [site async for site, _ in written(engine, edit, own, form=FORMATS[form])] == []
