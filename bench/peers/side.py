"""What the sides of the comparison are asked and answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Missing(Exception):
    """This side cannot take part; one sentence says why."""


@dataclass(frozen=True)
class Ask:
    """A gap, as text for our engine and as the `tokens` of the same prompt for the others.

    `end` is `line` or `token`; `fresh` means that nothing may be cached, else what the request before left is used;
    `watched` that the moment is wanted at which the first line stands.
    """

    prefix: str
    suffix: str
    middle: str
    tokens: tuple[int, ...]
    end: str
    max_tokens: int
    fresh: bool = False
    watched: bool = False


@dataclass(frozen=True)
class Reply:
    """Wall-clock milliseconds from request to answer, and to the first line that will not change, where it was watched.

    `tokens` counts the end token too.
    """

    text: str
    tokens: int
    prompt: int
    cached: int
    milliseconds: float
    first_line: float | None = None


@dataclass(frozen=True)
class Several:
    """Gaps asked at once: milliseconds until the first and until the last answer, tokens of all."""

    first: float
    last: float
    tokens: int


class Side(Protocol):
    """Lives in a process of its own. `facts` go into the results file."""

    facts: dict[str, str]

    def answer(self, ask: Ask, mode: str) -> Reply: ...

    def together(self, asks: Sequence[Ask], mode: str) -> Several:
        """All at once, as one request for several sites or as several users; nothing is cached."""
        ...
