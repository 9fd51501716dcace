"""Definitions in other files of names that the gap's surroundings import or use."""

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from dlsp.context.names import Names
from dlsp.context.parts import Part
from dlsp.context.rendering import FORMS, part, why
from dlsp.context.ties import class_of, folder_of, meant, ties
from dlsp.context.tokens import tokens
from dlsp.ignore import Rules, Verdicts
from dlsp.index.store import Found, Store, module, stem

# A name defined in more files than this is ignored unless one of the definitions is imported.
MAX_DEFINING_FILES = 4
# The score of a member that can come next at the cursor.
MEMBER_SCORE = 20.0
# The most members shown, and the tokens they may take: as outlines if these fit, else first lines, else names.
MAX_MEMBERS, MAX_MEMBER_TOKENS = 80, 250
# The lowest score at which a definition is shown.
MIN_SCORE = 3.0


class Scored(NamedTuple):
    """A candidate part and its score; higher is better."""

    score: float
    part: Part


def definitions(index: Store, rules: Rules | Verdicts, path: str, family: str, names: Names) -> Iterator[Scored]:
    """Yield candidates, best first; none while the index cannot be read."""
    try:
        found = [
            *_members(index, path, family, names),
            *_modules(index, path, family, names),
            *_named(index, path, family, names),
        ]
    except sqlite3.Error:
        return iter(())
    best: dict[tuple[str, int], Scored] = {}
    for each in sorted(found, key=lambda each: (-each.score, each.part.path, each.part.row)):
        best.setdefault((each.part.path, each.part.row), each)
    # Lazy, because checking exclusion reads the file system and only a few candidates are used.
    return (each for each in best.values() if not rules.excludes_source(rules.root / each.part.path))


def defined(index: Store, rules: Rules | Verdicts, family: str, most: int) -> tuple[str, ...]:
    """At most so many names that files of a language family define, those of the latest changed files first; none
    while the index cannot be read."""
    names: dict[str, None] = {}
    try:
        for path, rows in groupby(index.names(family), key=itemgetter(0)):
            if not rules.excludes_source(rules.root / path):
                names |= dict.fromkeys(name for _, name in rows)
            if len(names) >= most:
                break
    except sqlite3.Error:
        return ()
    return tuple(names)[:most]


def _members(index: Store, path: str, family: str, names: Names) -> list[Scored]:
    """Members of the object before the cursor's dot, public ones first, in the most detailed form that fits.

    They are the members of an imported class with the object's name (or ending in it), else the definitions of an
    imported module.
    """
    found = _of_class(index, path, family, names) or _of_module(index, path, family, names)
    texts: list[str] = []
    for form in FORMS:
        texts = [form(each) for each in found]
        if sum(map(tokens, texts)) <= MAX_MEMBER_TOKENS:
            break
    reason = f"in {names.owner}, before the cursor"
    return [
        Scored(MEMBER_SCORE - each.symbol.name.startswith("_"), Part(each.path, each.symbol.row, text, reason))
        for each, text in zip(found, texts, strict=True)
    ]


def _of_class(index: Store, path: str, family: str, names: Names) -> list[Found]:
    owner = names.owner.lower().replace("_", "")
    alike = [name for name in names.imported if owner and name[0].isupper() and name.lower().endswith(owner)]
    for name in sorted(alike, key=lambda name: (len(name), name)):
        classes = [each for each in index.named(name, family, 50) if each.symbol.kind == "class" and each.path != path]
        for each in sorted(classes, key=lambda each: stem(each.path) not in names.modules):
            if found := index.members(each.path, name, MAX_MEMBERS):
                return found
    return []


def _of_module(index: Store, path: str, family: str, names: Names) -> list[Found]:
    if names.owner not in names.imported:
        return []
    files = [file for file in index.files(names.owner.lower(), family) if file != path]
    files.sort(key=lambda file: (folder_of(file) != folder_of(path), folder_of(file) not in names.imported))
    return index.in_file(files[0], MAX_MEMBERS) if files else []


def _named(index: Store, path: str, family: str, names: Names) -> list[Scored]:
    """Definitions of the names used near the gap or imported."""
    made: list[Scored] = []
    for name, weight in names.wanted.items():
        found = [each for each in index.named(name, family, 200) if each.path != path]
        if len({(each.path, class_of(each)) for each in found}) > MAX_DEFINING_FILES:
            found = meant(found, path, names)
        for each in found:
            score = weight + ties(each, path, family, names)
            if score >= MIN_SCORE:
                made.append(Scored(score, part(each, why(each, names, stem(each.path) in names.modules))))
    return made


def _modules(index: Store, path: str, family: str, names: Names) -> list[Scored]:
    """Definitions in modules that are imported whole and used near the cursor; none in C, which has no module
    prefix."""
    made: list[Scored] = []
    if family == "c":
        return made
    for owner in names.modules & names.uses.keys():
        for file in index.files(owner, family):
            folder = ["", *module(file)][-2]
            if file == path or folder not in names.modules | {folder_of(path).lower(), ""}:
                continue
            used = names.uses[owner]
            for each in index.in_file(file, 40):
                hidden = each.symbol.name.startswith("_")
                score = MIN_SCORE + (1.0 if each.symbol.name in used else 0.0) - (0.5 if hidden else 0.0)
                if each.symbol.kind != "constant":
                    made.append(Scored(score, part(each, f"in {owner}, which is imported")))
    return made
