"""Which requests share a prompt cache: each lane is one document's or chat's, and has one request at a time."""

import secrets
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Prompt = TypeVar("Prompt")

# Documents or chats whose prompts are kept apart; more at once get a lane for one request each.
LANES = 16


@dataclass
class Lane(Generic[Prompt]):
    """The engine client and session that requests go by, both called `name`, and the prompt that this session has."""

    name: str
    anchor: Prompt | None = None
    busy: bool = False
    used: float = field(default_factory=time.monotonic)


class Lanes(Generic[Prompt]):
    """Assigns requests to lanes: that with the most similar prompt first. `likeness` says how similar two prompts are,
    from 0 to 1; up to a half they are different."""

    def __init__(self, kind: str, likeness: Callable[[Prompt, Prompt], float]) -> None:
        self._client = f"api-{kind}-{secrets.token_hex(4)}"
        self._likeness = likeness
        self._count = 0
        self._lanes: list[Lane[Prompt]] = []

    @contextmanager
    def lane(self, prompt: Prompt) -> Generator[Lane[Prompt]]:
        lane = self._choose(prompt)
        lane.busy = True
        try:
            yield lane
        finally:
            lane.busy, lane.used = False, time.monotonic()

    def _choose(self, prompt: Prompt) -> Lane[Prompt]:
        free = [each for each in self._lanes if not each.busy]
        likeness = {each.name: 0.0 if each.anchor is None else self._likeness(prompt, each.anchor) for each in free}
        likest = max(free, key=lambda each: likeness[each.name], default=None)
        if likest and likeness[likest.name] > 0.5:
            return likest
        if len(self._lanes) >= LANES and free:
            oldest = min(free, key=lambda each: each.used)
            oldest.anchor = None
            return oldest
        self._count += 1
        lane: Lane[Prompt] = Lane(f"{self._client}-{self._count}")
        if len(self._lanes) < LANES:
            self._lanes.append(lane)
        return lane
