"""Parsing a document in another process first, so that no document can hold up or end this one.

Some texts keep a grammar busy for half a minute, and nothing stops a parse from outside: it holds the interpreter's
lock, and the library's progress callback, which ends most of them, is not called for seconds in some. A grammar's
native code can also crash. So each parse of a document that is not small is done by a child process first, of the same
text, from the same older tree and by the same edit. Where it takes too long there, or the child dies, it is not done
here at all, and the document is plain text.

A tree cannot be sent from one process to another, and the ways in which trees are used here are too many to be moved
into the child. So the work is done twice, which costs a keystroke a fraction of a millisecond. Small documents are
parsed here at once: what there is to fear is worse than linear in their length (tests/dlsp/syntax has the measurements
as tests). What is known to write past its memory, in the child as here, `guard` keeps from both.
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

# Documents up to so long are not rehearsed.
SMALL_BYTES = 1_000
# Seconds of the processor's time that a parse may take. Here it takes as long again.
PARSE_S = 0.1
# Seconds on the clock after which the child is killed.
DEADLINE_S = 0.3
# Bytes of a document for which there is another second: ordinary code is parsed faster.
BYTES_S = 4_000_000
# Seconds that the first child is waited for. A later one is not: until it is ready, documents are plain text.
START_S = 5.0

_keys = count()


class Outcome(Enum):
    PASSED = "it ended in time"
    FAILED = "it took too long, or the child died of it"
    UNKNOWN = "the child knows the older content no more: parse from the beginning, here and there"
    AWAY = "the child is being started again"


class Rehearsal:
    """A child process that parses, started when it is first needed and again after it died. Safe for threads."""

    def __init__(self, parse_s: float = PARSE_S, deadline_s: float = DEADLINE_S) -> None:
        self._parse_s, self._deadline_s = parse_s, deadline_s
        self._lock = threading.Lock()
        self._child: _Child | None = None

    def parse(self, part: "Part", new: bytes, places: tuple[int, int, int] | None, keep: bool) -> Outcome:
        """How the parse of the document `part` with the content `new` goes.

        `places` is how it differs from the content that was kept last, None for a parse from the beginning. With
        `keep` it is the content from now on.
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

    def close(self) -> None:
        """End the child."""
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
    """What one document is to the child."""

    def __init__(self, language: str) -> None:
        self.language, self.key = language, next(_keys)
        self.child: _Child | None = None


class _Child:
    def __init__(self) -> None:
        # -P: the project's own files are no modules of ours, whatever their names.
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
        """Whether it has said that it runs; waited for no longer than that."""
        if not self._started and not self.is_dead:
            with suppress(Empty):
                self._started = (
                    self._answers.get(timeout=seconds) != b"" if seconds else self._answers.get(False) != b""
                )
        return self._started

    def ask(self, request: bytes, seconds: float) -> bytes | None:
        """Its answer of one byte; None if it is dead or late."""
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
        while answer := stdout.read(1):
            self._answers.put(answer)
        self.is_dead = True
        self._answers.put(b"")
        self._process.wait()
