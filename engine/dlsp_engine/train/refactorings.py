"""Refactorings of a few lines whose result is known: made up, to train an edit update in many languages."""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Sequence

NAME = re.compile(r"[A-Za-z_]\w*")
CALL = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\(([^()\n]*)\)")
KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """
        and as async assert await break case catch char class const continue def default defer delete do double elif
        else enum except export extends false False final finally float fn for from func function go if impl import in
        instanceof int interface is lambda let long match mod module mut namespace new nil None not null or override
        package pass private protected pub public raise range return self static str string struct super switch template
        this throw throws trait true True try type typedef typeof typename undefined unsigned use using var virtual void
        where while with yield
        """,
    )
)
WORDS = ("new", "base", "raw", "inner", "current", "local", "next", "main", "value", "item", "info", "state", "impl")
WRAPPERS = ("checked", "copy_of", "Some", "unwrap", "str", "to_list", "cached", "required")
LEAST_PLACES, MOST_PLACES = 2, 8
COMMENTS = ("#", "//", "/*", "* ")

Lines = Sequence[str]


def refactored(lines: Lines, rng: random.Random) -> list[str] | None:
    """Return the lines after one refactoring, as many as before; None if the one that was drawn finds no place."""
    make = rng.choices((rename, argument, fewer_arguments, wrap, awaited), (8, 3, 2, 2, 1))[0]
    return make(lines, rng)


def rename(lines: Lines, rng: random.Random) -> list[str] | None:
    """A name becomes another one in all these lines."""
    places: dict[str, set[int]] = defaultdict(set)
    others: set[str] = set()
    for row, line in enumerate(lines):
        for found in NAME.finditer(line):
            others.add(found[0])
            if len(found[0]) > 2 and found[0] not in KEYWORDS:
                places[found[0]].add(row)
            if in_prose(line, found.start()):
                places[found[0]].update(range(len(lines) + MOST_PLACES))  # never chosen
    names = [name for name, rows in places.items() if LEAST_PLACES <= len(rows) <= MOST_PLACES]
    if not names:
        return None
    old = rng.choice(sorted(names))
    new = renamed(old, sorted(others), rng)
    if new in others or new in KEYWORDS:
        return None
    return [re.sub(rf"\b{re.escape(old)}\b", new, line) for line in lines]


def renamed(old: str, others: Lines, rng: random.Random) -> str:
    """A new name in the style of the old one."""
    word = rng.choice(WORDS) if rng.random() < 0.5 or not others else rng.choice(others).strip("_").split("_")[0]
    word = re.sub(r"\W", "", word) or "other"
    if old.isupper():
        return f"{old}_{word.upper()}" if rng.random() < 0.5 else f"{word.upper()}_{old}"
    if "_" in old or old.islower():
        if "_" in old.strip("_") and rng.random() < 0.4:
            parts = old.split("_")
            parts[rng.randrange(len(parts))] = word.lower()
            return "_".join(parts)
        return f"{old}_{word.lower()}" if rng.random() < 0.5 else f"{word.lower()}_{old}"
    capital = word[0].upper() + word[1:]
    if old[0].isupper():
        return old + capital if rng.random() < 0.5 else capital + old
    return old + capital if rng.random() < 0.5 else word[0].lower() + word[1:] + old[0].upper() + old[1:]


def argument(lines: Lines, rng: random.Random) -> list[str] | None:
    """A function takes one argument more, at its end."""
    more = rng.choice((*WORDS, "ctx", "options", "timeout", "config", "None", "0", "true"))
    return _calls(lines, rng, lambda name, given: f"{name}({given + ', ' if given.strip() else ''}{more})")


def fewer_arguments(lines: Lines, rng: random.Random) -> list[str] | None:
    """A function loses its last argument."""
    return _calls(
        lines, rng, lambda name, given: f"{name}({given.rpartition(',')[0] if ',' in given else ''})", least_given=1
    )


def wrap(lines: Lines, rng: random.Random) -> list[str] | None:
    """What a function returns is given to another one."""
    outer = rng.choice(WRAPPERS)
    return _calls(lines, rng, lambda name, given: f"{outer}({name}({given}))", defined=False)


def awaited(lines: Lines, rng: random.Random) -> list[str] | None:
    """What a function returns is awaited."""
    return _calls(lines, rng, lambda name, given: f"await {name}({given})", defined=False)


def _calls(
    lines: Lines, rng: random.Random, new: Callable[[str, str], str], least_given: int = 0, defined: bool = True
) -> list[str] | None:
    """Change all calls of one function, and where `defined` its definition: `new(name, arguments)`."""
    rows: dict[str, set[int]] = defaultdict(set)
    bad: set[str] = set()
    for row, line in enumerate(lines):
        for found in CALL.finditer(line):
            before = line[: found.start()].split()
            is_definition = bool(before) and before[-1] in ("def", "fn", "func", "function", "class")
            if (
                in_prose(line, found.start())
                or (is_definition and not defined)
                or (before and before[-1] in ("await", "new"))
            ):
                bad.add(found[1])
            if len(found[2].split(",")) <= least_given and least_given and not found[2].strip():
                bad.add(found[1])
            rows[found[1]].add(row)
        called = {found[1] for found in CALL.finditer(line)}
        bad |= {name for name in NAME.findall(line) if name not in called}  # used in another way too
    names = [name for name, at in rows.items() if LEAST_PLACES <= len(at) <= MOST_PLACES and name not in bad | KEYWORDS]
    if not names:
        return None
    chosen = rng.choice(sorted(names))
    return [CALL.sub(lambda found: new(chosen, found[2]) if found[1] == chosen else found[0], line) for line in lines]


def in_prose(line: str, at: int) -> bool:
    """Whether a place of a line is in a string or a comment, as far as the line alone says."""
    before = line[:at]
    quoted = any(before.count(quote) % 2 for quote in "\"'`")
    return quoted or any(mark in before for mark in COMMENTS) or line.lstrip().startswith(("*", "#"))
