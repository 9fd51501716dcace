"""`python -m dlsp.syntax`: the child process of a rehearsal, which parses documents and reports whether that took too
long.

A request is a line of JSON, followed by as many bytes as its `bytes` says; its `seconds` are the CPU time allowed. The
answer is one byte: `+` for a parse in time, `-` for one that took too long, `?` for a change to a document it does not
have (any more). At its start it sends `!`.
"""

import ctypes
import json
import signal
import sys
import time
from collections import OrderedDict
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO, NamedTuple

from tree_sitter import Tree

from dlsp.syntax.guard import incremental
from dlsp.syntax.languages import LANGUAGES, Language
from dlsp.syntax.source import edit

MOST_DOCUMENTS = 64
# The system kills this process after this many times the allowed seconds, even inside native code.
GRACE = 3
_CHUNK = 65_536
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
        _say(_answer(json.loads(line), sys.stdin.buffer, documents))


def _answer(asked: dict[str, Any], stream: BinaryIO, documents: OrderedDict[int, _Document]) -> bytes:
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
    made = _parsed(language, content, tree, asked["seconds"])
    if made is None:
        return b"-"
    if asked["keep"]:
        documents[key] = _Document(content, made)
        documents.move_to_end(key)
        while len(documents) > MOST_DOCUMENTS:
            documents.popitem(last=False)
    return b"+"


def _parsed(language: Language, content: bytes, old: Tree | None, seconds: float) -> Tree | None:
    """The tree; None if parsing takes more than `seconds` of CPU time."""
    until = time.thread_time() + seconds
    parse = partial(language.parser().parse, progress_callback=lambda *_: time.thread_time() > until)
    _alarm(GRACE * seconds)
    try:
        made = parse(partial(_piece, content), old_tree=old) if old else parse(partial(_piece, content))
    except ValueError:  # the callback cancelled the parse
        return None
    finally:
        _alarm(0)
    return made if time.thread_time() <= until else None


def _piece(content: bytes, at: int, _: object) -> bytes:
    return content[at : at + _CHUNK]


def _alarm(seconds: float) -> None:
    """Have the system kill this process after so many seconds of CPU time; 0 cancels that."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _say(answer: bytes) -> None:
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
