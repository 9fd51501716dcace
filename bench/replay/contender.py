"""What a user works with: something that may show a suggestion at the cursor after every key."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from bench.replay.scripts import Script


@dataclass(frozen=True)
class Place:
    """The document around the cursor, and how many characters before it the last key put there or took away.

    `closers` are the brackets and quotes that the editor has put behind the cursor, before `after`.
    """

    before: str
    after: str
    typed: str = ""
    deleted: int = 0
    key: str = "type"  # type, newline, delete, move, accept
    closers: str = ""


@dataclass(frozen=True)
class Shown:
    """A suggestion as it appeared; `memory`: without asking the engine. `facts` are what else is known of it."""

    text: str
    memory: bool
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Work:
    """What an engine did: steps that committed or drafted tokens, prompt tokens computed."""

    forwards: int = 0
    prompt_tokens: int = 0
    requests: int = 0


class Contender(Protocol):
    """`quiet` says why nothing is shown at the place, "" while something may still come."""

    quiet: str

    @property
    def work(self) -> Work:
        """What was done for the script at hand."""
        ...

    def now(self) -> float:
        """Seconds on its own clock, which may pass faster than ours."""
        ...

    async def open(self, script: Script) -> None:
        """Begin with the script's document, the cursor at its start."""
        ...

    async def act(self, place: Place) -> None:
        """The user did something: what is shown disappears; look for what to show now."""
        ...

    async def wait(self, seconds: float | None) -> Shown | None:
        """What is shown within so long, at once where it is; None when it is quiet or time is up. None: no limit."""
        ...

    async def rest(self, seconds: float) -> None:
        """Let it work in the background for at most so long; returns early when it has nothing to do."""
        ...
