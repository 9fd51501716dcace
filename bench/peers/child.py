"""A side in a process of its own: while one is measured, the others sleep in a read from their pipes."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import psutil

from bench.peers.side import Ask, Missing, Reply, Several, Side
from dlsp.errors import UserError

LOAD_S, ANSWER_S, END_S = 300, 180, 10

# Variables to set, or to remove where None.
Environment = Mapping[str, str | None]


class Child:
    """Raises Missing where the side cannot take part, UserError where it fails later."""

    def __init__(self, name: str, environment: Environment, make: Callable[..., Side], *arguments: Any) -> None:
        self.name = name
        spawning = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawning.Pipe()
        self._process = spawning.Process(target=_live, args=(theirs, environment, make, arguments), daemon=True)
        self._process.start()
        theirs.close()
        try:
            self.facts: dict[str, str] = self._receive(LOAD_S)
        except UserError as error:
            self.close()
            raise Missing(str(error)) from None

    def ask(self, ask: Ask, mode: str) -> Reply:
        self._pipe.send(("answer", ask, mode))
        return self._receive(ANSWER_S)

    def together(self, asks: Sequence[Ask], mode: str) -> Several:
        self._pipe.send(("together", asks, mode))
        return self._receive(ANSWER_S * len(asks))

    def resident(self) -> int:
        """Bytes of memory that the process holds now, files it has mapped included."""
        return psutil.Process(self._process.pid).memory_info().rss

    def close(self) -> None:
        self._pipe.close()
        self._process.join(END_S)
        if self._process.is_alive():
            self._process.kill()

    def _receive(self, seconds: float) -> Any:
        try:
            if not self._pipe.poll(seconds):
                raise UserError(f"{self.name} gave no answer in {seconds} s: is the machine very busy?")
            right, value = self._pipe.recv()
        except (EOFError, OSError):
            raise UserError(
                f"{self.name} ended without an answer: there is too little memory, or its error stands above."
            ) from None
        if not right:
            raise UserError(value)
        return value


def _live(pipe: Connection, environment: Environment, make: Callable[..., Side], arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    # Before the libraries are loaded: they read their settings once.
    for name, value in environment.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    # EOFError and OSError: the parent went away.
    with suppress(EOFError, OSError):
        try:
            side = make(*arguments)
            pipe.send((True, dict(side.facts)))
            while True:
                what, *asked = pipe.recv()
                pipe.send((True, getattr(side, what)(*asked)))
        except (Missing, RuntimeError) as error:
            pipe.send((False, str(error)))
