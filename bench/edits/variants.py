"""The ways of carrying an edit on that are compared."""

import time
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from bench.edits.rows import Row
from dlsp.edits.history.hunks import Hunk
from dlsp.edits.rank.proposals import SITES_PER_REQUEST, learned, proposals
from dlsp.edits.rank.sites import sites
from dlsp.edits.rewrite.windows import windows
from dlsp.edits.rewrite.written import WritingEngine as AnyEngine
from dlsp.edits.rewrite.written import next_edits, written

PATIENCE_S = 120.0  # of one edit: the machine may be busy


@dataclass(frozen=True)
class Answer:
    """Hunks shown, ranges of rows that were looked at, and the seconds it took; `commit` is that of the code."""

    shown: list[Hunk]
    looked_at: list[tuple[int, int]] = field(default_factory=list)
    seconds: float = 0.0
    commit: str = ""

    @classmethod
    def read(cls, kept: dict[str, Any]) -> "Answer":
        """From `asdict` by way of JSON."""
        shown = [Hunk(each["start"], each["end"], tuple(each["lines"])) for each in kept["shown"]]
        return cls(shown, [(first, last) for first, last in kept["looked_at"]], kept["seconds"], kept.get("commit", ""))


async def substitution(engine: AnyEngine | None, row: Row) -> Answer:
    """The names that the edit renames, replaced everywhere; told which names they are."""
    return Answer(row.renamed() if row.shows_rename else [])


async def teaching(engine: AnyEngine | None, row: Row) -> Answer:
    """What the edit teaches by itself, without a model."""
    began = time.monotonic()
    shown = [each.hunk for each in learned(row.edit, row.page, [row.page])]
    return Answer(shown, looked_at(row), time.monotonic() - began)


async def judged(engine: AnyEngine | None, row: Row) -> Answer:
    """The sites of the edit's own texts, judged by the model."""
    return await _asked(engine, row, SITES_PER_REQUEST)


async def written_alone(engine: AnyEngine | None, row: Row) -> Answer:
    """What the model writes, without the gate."""
    assert engine
    began = time.monotonic()
    async with aclosing(written(engine, row.edit, row.page, PATIENCE_S)) as found:
        shown = [site.hunk async for site, _ in found]
    places = [(each.start + each.keep, each.end) for each in windows(row.edit, row.page)]
    return Answer(shown, places, time.monotonic() - began)


async def ranked(engine: AnyEngine | None, row: Row) -> Answer:
    """As it ships: what the edit teaches, and what the model writes behind its gate."""
    assert engine
    began = time.monotonic()
    async with aclosing(next_edits(engine, row.edit, row.page, [row.page], PATIENCE_S)) as found:
        shown = [each.hunk async for each in found]
    places = [(each.start + each.keep, each.end) for each in windows(row.edit, row.page)]
    return Answer(shown, looked_at(row) + places, time.monotonic() - began)


async def single(engine: AnyEngine | None, row: Row) -> Answer:
    """One site at a time."""
    return await _asked(engine, row, 1)


def looked_at(row: Row) -> list[tuple[int, int]]:
    """The rows of the sites."""
    found = sites(row.edit, row.page, [row.page])
    return [(site.start, site.start + len(site.old)) for site in found]


async def _asked(engine: AnyEngine | None, row: Row, batch: int) -> Answer:
    assert engine
    began = time.monotonic()
    async with aclosing(proposals(engine, row.edit, row.page, [row.page], batch)) as found:
        shown = [each.hunk async for each in found]
    return Answer(shown, looked_at(row), time.monotonic() - began)


VARIANTS = {
    "substitution": substitution,
    "teaching": teaching,
    "judged": judged,
    "single": single,
    "written": written_alone,
    "ranked": ranked,
}
WITHOUT_MODEL = ("substitution", "teaching")
