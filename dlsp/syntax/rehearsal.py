"""A child process that parses each document first, so that none can block or crash this process.

Some texts keep a grammar busy for half a minute. Such a parse cannot be stopped from outside: it holds the
interpreter's lock, and the library's progress callback, which stops most of them, is sometimes not called for seconds.
A grammar's native code can also crash. So unless a document is small, a child process first does the same parse: of the
same text, from the same older tree, with the same edit. If it takes too long there or the child dies, it is not done
here, and the document counts as plain text.

A tree cannot be sent between processes, and trees are used here in too many ways to move all of that into the child. So
a document is parsed twice. What needs many parses and no tree here is done in the child alone: an answer is checked
there for syntax errors (`cut`). Small documents are parsed here directly, because the dangerous cases grow faster than
linearly with length (measured by the tests in tests/dlsp/syntax).
Documents known to corrupt memory are kept from both processes by `guard`.
"""

import atexit
import json
import subprocess
import sys
import threading
from contextlib import suppress
from enum import Enum
from itertools import count
from queue import Empty, SimpleQueue
from typing import IO

# Documents up to this size are parsed without a rehearsal.
SMALL_BYTES = 1_000
# Seconds of CPU time that a parse may take in the child; here it then takes as long again.
PARSE_S = 0.1
# Seconds of CPU time that the check of an answer may take in the child.
CUT_S = 0.1
# Seconds of wall-clock time after which the child is killed.
DEADLINE_S = 0.25
# Document bytes that are granted one more second; ordinary code is parsed faster than that.
BYTES_S = 4_000_000
# Seconds to wait for the first child to start. Later ones are not awaited: until one is ready, documents are plain
# text.
START_S = 5.0

_keys = count()


class Outcome(Enum):
    """The outcome of a rehearsal."""

    PASSED = "it ended in time"
    FAILED = "it took too long, or the child died of it"
    UNKNOWN = "the child knows the older content no more: parse from the beginning, here and there"
    AWAY = "the child is being started again"


class Rehearsal:
    """A child process that parses documents, started at first use and again after it has died. Thread-safe."""

    def __init__(self, parse_s: float = PARSE_S, deadline_s: float = DEADLINE_S) -> None:
        self._parse_s, self._deadline_s = parse_s, deadline_s
        self._lock = threading.Lock()
        self._child: _Child | None = None

    def parse(self, part: "Part", new: bytes, places: tuple[int, int, int] | None, keep: bool) -> Outcome:
        """Parse the document `part` with the content `new` in the child and return the outcome.

        `places` is the difference from the content kept last, None for a parse from the beginning. With `keep`, the
        child keeps `new` as the document's content.
        """
        with self._lock:
            child = self._ready()
            if child is None:
                return Outcome.AWAY
            if places is not None and part.child is not child:
                return Outcome.UNKNOWN
            start, old_end, new_end = places or (0, 0, len(new))
            more_s = len(new) / BYTES_S
            request = {
                "seconds": self._parse_s + more_s,
                "key": part.key,
                "language": part.language,
                "whole": places is None,
                "keep": keep,
            }
            request |= {"start": start, "old_end": old_end, "bytes": new_end - start}
            answer = child.ask(json.dumps(request).encode() + b"\n" + new[start:new_end], self._deadline_s + more_s)
            if answer is None:
                child.kill()
            if answer == b"+" and keep:
                part.child = child
            return {b"+": Outcome.PASSED, b"?": Outcome.UNKNOWN}.get(answer or b"-", Outcome.FAILED)

    def cut(self, language: str, text: str, before: str, after: str) -> str:
        """`text` up to where it adds syntax errors to the document `before + after` (see `broken.cut`); the whole text
        if the child cannot say or takes too long."""
        with self._lock:
            child = self._ready()
            if child is None:
                return text
            request = {"language": language, "seconds": CUT_S, "text": text, "before": before, "after": after}
            answer = child.ask(json.dumps(request).encode() + b"\n", self._deadline_s)
            if answer is None:
                child.kill()
            return text[: int(answer)] if answer else text

    def close(self) -> None:
        """Kill the child."""
        if self._child:
            self._child.kill()

    def _ready(self) -> "_Child | None":
        first = self._child is None
        if self._child is None or self._child.is_dead:
            with suppress(OSError):
                self._child = _Child()
            if first:
                atexit.register(self.close)
        if self._child is None or not self._child.is_ready(START_S if first else 0):
            return None
        return self._child


class Part:
    """A document as the child identifies it."""

    def __init__(self, language: str) -> None:
        self.language, self.key = language, next(_keys)
        self.child: _Child | None = None


class _Child:
    """A running child process, with a thread that reads its answers."""

    def __init__(self) -> None:
        # -P keeps the project's own files from being imported, whatever their names.
        command = [sys.executable, "-P", "-m", "dlsp.syntax"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._process.stdin
        assert self._process.stdout
        self._stdin = self._process.stdin
        self._answers: SimpleQueue[bytes] = SimpleQueue()
        self._started = self.is_dead = False
        threading.Thread(target=self._listen, args=[self._process.stdout], daemon=True).start()

    def is_ready(self, seconds: float) -> bool:
        """Whether the child has reported that it runs; waits at most `seconds` for that."""
        if not self._started and not self.is_dead:
            with suppress(Empty):
                self._started = (
                    self._answers.get(timeout=seconds) != b"" if seconds else self._answers.get(False) != b""
                )
        return self._started

    def ask(self, request: bytes, seconds: float) -> bytes | None:
        """Send a request and return the answer; None if the child is dead or the answer late."""
        try:
            self._stdin.write(request)
            self._stdin.flush()
            return self._answers.get(timeout=seconds) or None
        except (OSError, ValueError, Empty):
            return None

    def kill(self) -> None:
        self.is_dead = True
        self._process.kill()
        with suppress(OSError):
            self._stdin.close()

    def _listen(self, stdout: IO[bytes]) -> None:
        while answer := stdout.readline():
            self._answers.put(answer.strip())
        self.is_dead = True
        self._answers.put(b"")
        self._process.wait()
