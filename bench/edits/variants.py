"""The ways of carrying an edit on that are compared."""

import time
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from bench.edits.rows import Row
from dlsp.edits.history.hunks import Hunk
from dlsp.edits.rank.proposals import SITES_PER_REQUEST, learned, proposals
from dlsp.edits.rank.sites import sites
from dlsp.engine.client import Engine


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


async def substitution(engine: Engine | None, row: Row) -> Answer:
    """The names that the edit renames, replaced everywhere; told which names they are."""
    return Answer(row.renamed() if row.shows_rename else [])


async def teaching(engine: Engine | None, row: Row) -> Answer:
    """What the edit teaches by itself, without a model."""
    began = time.monotonic()
    shown = [each.hunk for each in learned(row.edit, row.page, [row.page])]
    return Answer(shown, looked_at(row), time.monotonic() - began)


async def judged(engine: Engine | None, row: Row) -> Answer:
    """As it ships."""
    return await _asked(engine, row, SITES_PER_REQUEST)


async def single(engine: Engine | None, row: Row) -> Answer:
    """One site at a time."""
    return await _asked(engine, row, 1)


def looked_at(row: Row) -> list[tuple[int, int]]:
    """The rows of the sites."""
    found = sites(row.edit, row.page, [row.page])
    return [(site.start, site.start + len(site.old)) for site in found]


async def _asked(engine: Engine | None, row: Row, batch: int) -> Answer:
    assert engine
    began = time.monotonic()
    async with aclosing(proposals(engine, row.edit, row.page, [row.page], batch)) as found:
        shown = [each.hunk async for each in found]
    return Answer(shown, looked_at(row), time.monotonic() - began)


VARIANTS = {"substitution": substitution, "teaching": teaching, "judged": judged, "single": single}
WITHOUT_MODEL = ("substitution", "teaching")
