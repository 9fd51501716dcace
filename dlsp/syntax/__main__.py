"""`python -m dlsp.syntax`: the child process of `rehearsal`, which parses documents for a process that may not be held
up.

A request is a line of JSON; its `seconds` are the CPU time allowed. The answer is a line. At its start the child sends
`!`. There are two kinds of requests:

- parse a document: its new bytes follow the line, as many as `bytes` says. The answer is `+` for a parse in time, `-`
  for one that took too long, `?` for a change to a document that the child does not have (any more);
- `text`, `before` and `after`: cut the text where it would be broken between these parts of a short document. The
  answer is the number of characters to keep.
"""

import ctypes
import json
import signal
import sys
import time
from collections import OrderedDict
from contextlib import suppress
from typing import Any, BinaryIO, NamedTuple

from tree_sitter import Tree

from dlsp.syntax import broken
from dlsp.syntax.guard import incremental
from dlsp.syntax.languages import LANGUAGES
from dlsp.syntax.source import Source, edit, parsed

MAX_DOCUMENTS = 64
# The system kills this process after this many times the allowed seconds, even inside native code.
GRACE = 3
_PR_SET_PDEATHSIG = 1  # of Linux's <sys/prctl.h>


class _Document(NamedTuple):
    """A document kept between requests: its content and tree."""

    content: bytes
    tree: Tree


def main() -> None:
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    documents: OrderedDict[int, _Document] = OrderedDict()
    _say(b"!")
    while line := sys.stdin.buffer.readline():
        asked = json.loads(line)
        _alarm(GRACE * asked["seconds"])
        answer = _cut(asked) if "text" in asked else _parse(asked, sys.stdin.buffer, documents)
        _alarm(0)
        _say(answer)


def _cut(asked: dict[str, Any]) -> bytes:
    """The number of characters that `broken.cut` leaves; all if it takes too long."""
    until = time.thread_time() + asked["seconds"]
    language = next(each for each in LANGUAGES if each.name == asked["language"])
    parser = language.parser()

    def is_late() -> bool:
        return time.thread_time() > until

    def parse(content: bytes, old: Tree | None) -> Tree | None:
        return parsed(parser, content, old, is_late)

    kept = broken.cut(asked["text"], asked["before"], asked["after"], Source(language, None, parse), is_late)
    return str(len(kept)).encode()


def _parse(asked: dict[str, Any], stream: BinaryIO, documents: OrderedDict[int, _Document]) -> bytes:
    """The outcome of a parse."""
    piece = stream.read(asked["bytes"])
    key, start, old_end = asked["key"], asked["start"], asked["old_end"]
    language = next(each for each in LANGUAGES if each.name == asked["language"])
    old = None if asked["whole"] else documents.get(key)
    if old is None and not asked["whole"]:
        return b"?"
    content, tree = piece, None
    if old:
        content = old.content[:start] + piece + old.content[old_end:]
        if incremental(language):
            tree = old.tree.copy()
            edit(tree, old.content, content, (start, old_end, start + len(piece)))
    until = time.thread_time() + asked["seconds"]
    made = parsed(language.parser(), content, tree, lambda: time.thread_time() > until)
    if made is None or time.thread_time() > until:
        return b"-"
    if asked["keep"]:
        documents[key] = _Document(content, made)
        documents.move_to_end(key)
        while len(documents) > MAX_DOCUMENTS:
            documents.popitem(last=False)
    return b"+"


def _alarm(seconds: float) -> None:
    """Have the system kill this process after so many seconds of CPU time; 0 cancels that."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _say(answer: bytes) -> None:
    sys.stdout.buffer.write(answer + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
