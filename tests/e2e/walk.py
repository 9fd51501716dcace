"""A random walk of editing actions in an editor with two files, and a model of what the files must hold after each."""

import os
import random
import signal
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from dlsp.engine import state
from dlsp.models.catalogue import DEFAULT

START = "def add(a, b):\n    return a + b\n\n\nnumbers = [1, 2, 3]\nprint(add(1, 2))"
WEIGHTS = {"type": 32, "delete": 20, "undo": 18, "accept": 5, "accept_word": 2, "accept_line": 2, "switch": 10}
KILLS = ["kill_server"] * 3 + ["kill_engine"] * 2


@dataclass
class Text:
    """What a file must hold, and what undo goes back to."""

    now: str = START
    past: list[str] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        return self.now.split("\n")

    def replace(self, start: int, end: int, text: str) -> None:
        """`text` in the stead of the characters from `start` to `end`; a step of undo if it makes a difference."""
        made = self.now[:start] + text + self.now[end:]
        if made != self.now:
            self.past.append(self.now)
            self.now = made

    def undo(self) -> None:
        if self.past:
            self.now = self.past.pop()

    def offset(self, line: int, column: int) -> int:
        """Of a place, both from 0, in characters."""
        return sum(len(each) + 1 for each in self.lines[:line]) + column


class Walk(ABC):
    """An editor's way to do each action of WEIGHTS, as a method of the action's name, and to read what it holds."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.texts = [Text(), Text()]
        self.current, self.accepted = 0, 0

    @property
    def text(self) -> Text:
        return self.texts[self.current]

    def place(self) -> tuple[int, int]:
        """A random line and column, both from 0, in characters."""
        line = self.random.randrange(len(self.text.lines))
        return line, self.random.randint(0, len(self.text.lines[line]))

    @abstractmethod
    def held(self) -> str:
        """What the editor holds in its current file."""

    @abstractmethod
    def troubles(self) -> Sequence[str]:
        """What the editor complained of to its user and should not have."""

    @abstractmethod
    def show(self) -> None:
        """Go to the current file."""

    @abstractmethod
    def servers(self) -> Sequence[int]:
        """The processes of the language servers."""

    def check(self, after: str) -> None:
        held, troubles = self.held(), list(self.troubles())
        seen = f"After {after}:\n{held!r} is held, and should be\n{self.text.now!r}\n{troubles}"
        assert held == self.text.now, seen
        assert not troubles, seen

    def take(self, at: int, ghost: str, all: bool) -> None:
        """All of a suggestion was accepted, or its beginning, as much as the editor holds now."""
        taken = len(ghost) if all else len(self.held()) - len(self.text.now)
        assert taken > 0, f"nothing of {ghost!r} was accepted"
        self.text.replace(at, at, ghost[:taken])
        self.accepted += 1

    def switch(self) -> None:
        self.current = 1 - self.current
        self.show()

    def kill_server(self) -> None:
        for pid in self.servers():
            kill(pid)

    def kill_engine(self) -> None:
        """Of the state folder that DLSP_STATE_DIR names."""
        if running := state.read(DEFAULT.name):
            kill(running.pid)

    def run(self, count: int) -> None:
        """`count` actions, in an order of the seed's; an AssertionError as soon as the editor differs."""
        actions = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()), k=count - len(KILLS)) + KILLS
        self.random.shuffle(actions)
        for number, action in enumerate(actions):
            getattr(self, action)()
            self.check(f"action {number}, {action}")
        self.switch()
        self.check("the last action, in the other file")
        assert self.accepted >= count // 100, f"only {self.accepted} suggestions were accepted"


def kill(pid: int) -> None:
    """Unless it is dead already."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
