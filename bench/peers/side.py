"""What both sides of the comparison are asked and answer."""

from dataclasses import dataclass
from typing import Protocol


class Missing(Exception):
    """This side cannot take part; one sentence says why."""


@dataclass(frozen=True)
class Ask:
    """A gap, as text for our engine and as the `tokens` of the same prompt for llama.cpp.

    `end` is `line` or `token`; `fresh` means that nothing may be cached, else what the request before left is used.
    """

    prefix: str
    suffix: str
    middle: str
    tokens: tuple[int, ...]
    end: str
    max_tokens: int
    fresh: bool = False


@dataclass(frozen=True)
class Reply:
    """`milliseconds` is wall-clock from request to answer; `tokens` counts the end token too."""

    text: str
    tokens: int
    prompt: int
    cached: int
    milliseconds: float


class Side(Protocol):
    """Lives in a process of its own. `facts` go into the results file."""

    facts: dict[str, str]

    def answer(self, ask: Ask, mode: str) -> Reply: ...
