"""Ignore rules for an event loop: a thread reads files and matches patterns, and no answer is awaited for long."""

import os
import threading
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from dlsp.ignore.rules import Rules

UNKNOWN = "its ignore rules are being read"
MAX_REMEMBERED = 10_000


class _Question(NamedTuple):
    """A path to check; `source`: as a source of context."""

    source: bool
    path: Path


class Verdicts:
    """Answers like `Rules` for the workspace `root`, in bounded time.

    `patience_s`: seconds to wait for an answer, None for no limit. A later answer is replaced by the previous one for
    the same path, or by UNKNOWN, which excludes the file until the answer is there. Nothing is read before `begin` or
    the first question.
    """

    def __init__(self, root: Path, globs: tuple[str, ...] = (), patience_s: float | None = None) -> None:
        self.root = Path(os.path.abspath(root))
        self._globs, self._patience_s = globs, patience_s
        self._rules: Rules | None = None
        self._doubted = False
        self._known: dict[_Question, str] = {}
        self._asked: SimpleQueue[tuple[_Question, Future[str]] | None] = SimpleQueue()
        self._late: Future[str] | None = None
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start reading the rules, so that the first question need not wait for it."""
        if self._patience_s is not None and self._rules is None:
            self._start()
            self._asked.put((_Question(False, self.root / "any"), Future()))

    def doubt(self) -> None:
        """Have the rule files checked for changes before the next answer."""
        self._doubted = True

    def excludes(self, path: Path) -> str:
        """Like `Rules.excludes`."""
        return self._ask(_Question(False, path))

    def excludes_source(self, path: Path) -> str:
        """Like `Rules.excludes_source`."""
        return self._ask(_Question(True, path))

    def close(self) -> None:
        """End the thread."""
        self._asked.put(None)

    def _ask(self, question: _Question) -> str:
        if self._patience_s is None:
            return self._answer(question)
        self._start()
        if self._late and not self._late.done():  # busy: many questions must not each wait
            return self._known.get(question, UNKNOWN)
        answer: Future[str] = Future()
        self._asked.put((question, answer))
        try:
            return answer.result(self._patience_s)
        except TimeoutError:
            self._late = answer
            return self._known.get(question, UNKNOWN)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="ignore rules", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while asked := self._asked.get():
            question, answer = asked
            try:
                answer.set_result(self._answer(question))
            except Exception as error:
                answer.set_exception(error)

    def _answer(self, question: _Question) -> str:
        if self._rules is None or (self._doubted and not self._rules.hold()):
            self._rules = Rules(self.root, self._globs)
        self._doubted = False
        if len(self._known) > MAX_REMEMBERED:
            self._known.clear()
        ask = self._rules.excludes_source if question.source else self._rules.excludes
        found = self._known[question] = ask(question.path)
        return found
