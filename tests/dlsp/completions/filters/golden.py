"""Golden cases: a document with the suggestion in place, `▮kept▮cut▯` around what a filter keeps and cuts."""

import re
from typing import NamedTuple

_MARKED = re.compile(r"(.*)▮(.*)▮(.*)▯(.*)", re.DOTALL)


class Golden(NamedTuple):
    before: str
    kept: str
    cut: str
    after: str

    @property
    def answer(self) -> str:
        return self.kept + self.cut

    @property
    def line_before(self) -> str:
        return self.before.rpartition("\n")[2]

    @property
    def below(self) -> list[str]:
        return self.after.split("\n")


def golden(case: str) -> Golden:
    """The parts of a marked document."""
    found = _MARKED.fullmatch(case)
    assert found, f"not marked: {case!r}"
    return Golden(*found.groups())
