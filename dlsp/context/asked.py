"""What the editor's other language servers are asked about: the place at the cursor."""

import re
from dataclasses import dataclass, field

from dlsp.syntax.brackets import CLOSERS, OPENERS, brackets, code

# Characters before the cursor that are searched for the call that it is in.
SEARCHED_CHARACTERS = 4000
# Characters of a name.
MAX_NAME = 100
# Stands at the cursor; in a string or a comment it is blanked as these are.
_CURSOR = "\0"
# Their type is the class around the cursor, which is in the context.
_SELF = ("self", "cls", "this")
_MEMBER = re.compile(r"(\.|->|::)\s*\w*\Z")
_NAME = re.compile(r"[^\W\d]\w*\Z")


@dataclass(frozen=True)
class Place:
    """The row of a document and its text up to the cursor's dot or to the bracket of the cursor's call.

    Places are the same while what is asked about them is: `owner` is the name before the dot, `owner_back` how many
    characters before the cursor it begins, `called` the function in whose argument list the cursor is; "" for none.
    """

    row: int
    line: str
    owner: str = field(default="", compare=False)
    owner_back: int = field(default=0, compare=False)
    called: str = field(default="", compare=False)


def place(before: str) -> Place:
    """The place at the end of `before`. In strings and comments it has neither an owner nor a call."""
    seen = before[-SEARCHED_CHARACTERS:]
    marked = code(seen + _CURSOR)
    bare = marked[:-1]
    start = end = seen.rfind("\n") + 1
    owner = called = None
    if dot := _MEMBER.search(bare):
        owner, end = _name(seen, bare, dot.start()), max(end, dot.end(1))
        owner = None if owner and owner[0] in _SELF else owner
    opener = _opener(bare)
    if opener is not None and marked[-1] == _CURSOR:
        called, end = _name_at(bare, opener), max(end, opener + 1)
    return Place(
        before.count("\n"),
        seen[start:end],
        owner[0] if owner else "",
        len(seen) - owner.start() if owner else 0,
        called[0] if called else "",
    )


def _name(seen: str, bare: str, dot: int) -> re.Match[str] | None:
    """The name of the expression before the dot; of a call or a subscript, the name before its brackets."""
    end = len(seen[:dot].rstrip().rstrip("?!"))
    while end and bare[end - 1] in CLOSERS:
        opener = _opener_of_last(bare[:end])
        if opener is None:
            return None
        end = opener
    return _name_at(bare, end)


def _name_at(bare: str, end: int) -> re.Match[str] | None:
    """The name that ends at `end`."""
    return _NAME.search(bare, max(0, end - MAX_NAME), end)


def _opener(bare: str) -> int | None:
    """The offset of the innermost bracket that is not closed, if it is a round one."""
    stack: list[tuple[int, str]] = []
    for at, char in brackets(bare):
        if char in OPENERS:
            stack.append((at, char))
        elif stack:
            stack.pop()
    return stack[-1][0] if stack and stack[-1][1] == "(" else None


def _opener_of_last(bare: str) -> int | None:
    """The offset of the bracket that the last one closes."""
    stack: list[int] = []
    opener = None
    for at, char in brackets(bare):
        if char in OPENERS:
            stack.append(at)
        else:
            opener = stack.pop() if stack else None
    return opener
