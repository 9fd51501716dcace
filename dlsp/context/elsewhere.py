"""Definitions in other files of what the gap's surroundings import or name."""

import re
import sqlite3
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from dlsp.context.names import Names
from dlsp.context.parts import Part
from dlsp.context.tokens import tokens
from dlsp.ignore import Rules, Verdicts
from dlsp.index.store import Found, Store, module, stem

# A name that is defined in more files says nothing, unless one of them is imported.
COMMON = 4
# The score of what can come next at the cursor.
FOCUS = 20.0
# Tokens of members: outlines if so many do, else their first lines, else their names.
MOST_MEMBERS, MOST_OF_MEMBERS = 80, 250
# The score from which a definition is shown.
LEAST = 3.0
# Go's way to say whose member a function is.
_RECEIVER = re.compile(r"func \(\s*(?:\w+\s+)?\*?(\w+)")
# Families in which a name of another file is not seen without importing it.
NEEDS_IMPORT = {"python", "javascript", "rust"}


class Scored(NamedTuple):
    score: float
    part: Part


def definitions(index: Store, rules: Rules | Verdicts, path: str, family: str, names: Names) -> Iterator[Scored]:
    """Candidates, the best first; none while the index cannot be read."""
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
    # Asked for the few that are taken: it looks at the files.
    return (each for each in best.values() if not rules.excludes_source(rules.root / each.part.path))


def _members(index: Store, path: str, family: str, names: Names) -> list[Scored]:
    """What the thing before the cursor's dot has, in as many words as there is room for, what is not hidden first: the
    members of an imported class that it is or is named after, else the definitions of an imported module."""
    found = _of_class(index, path, family, names) or _of_module(index, path, family, names)
    texts: list[str] = []
    for form in (_outline, _line, _brief):
        texts = [form(each) for each in found]
        if sum(map(tokens, texts)) <= MOST_OF_MEMBERS:
            break
    why = f"in {names.owner}, before the cursor"
    return [
        Scored(FOCUS - each.symbol.name.startswith("_"), Part(each.path, each.symbol.row, text, why))
        for each, text in zip(found, texts, strict=True)
    ]


def _of_class(index: Store, path: str, family: str, names: Names) -> list[Found]:
    owner = names.owner.lower().replace("_", "")
    alike = [name for name in names.imported if owner and name[0].isupper() and name.lower().endswith(owner)]
    for name in sorted(alike, key=lambda name: (len(name), name)):
        classes = [each for each in index.named(name, family, 50) if each.symbol.kind == "class" and each.path != path]
        for each in sorted(classes, key=lambda each: stem(each.path) not in names.modules):
            if found := index.members(each.path, name, MOST_MEMBERS):
                return found
    return []


def _of_module(index: Store, path: str, family: str, names: Names) -> list[Found]:
    if names.owner not in names.imported:
        return []
    files = [file for file in index.files(names.owner.lower(), family) if file != path]
    files.sort(key=lambda file: (_folder(file) != _folder(path), _folder(file) not in names.imported))
    return index.in_file(files[0], MOST_MEMBERS) if files else []


def _outline(found: Found) -> str:
    return found.symbol.text


def _line(found: Found) -> str:
    """The first line of a definition, decorators left out."""
    lines = [line for line in found.symbol.text.split("\n") if not line.lstrip().startswith("@")]
    return lines[0] if lines else found.symbol.name


def _brief(found: Found) -> str:
    """The definition up to its name."""
    line = _line(found)
    at = line.find(found.symbol.name)
    return line[: at + len(found.symbol.name)] if at >= 0 else found.symbol.name


def _named(index: Store, path: str, family: str, names: Names) -> list[Scored]:
    """Definitions of the names themselves."""
    made: list[Scored] = []
    for name, weight in names.wanted.items():
        found = [each for each in index.named(name, family, 200) if each.path != path]
        if len({(each.path, _class(each)) for each in found}) > COMMON:
            found = _meant(found, path, names)
        for each in found:
            score = weight + _ties(each, path, family, names)
            if score >= LEAST:
                made.append(Scored(score, _part(each, _why(each, names, stem(each.path) in names.modules))))
    return made


def _meant(found: list[Found], path: str, names: Names) -> list[Found]:
    """Of many definitions of a name those of a class that is named too, and those that are imported, from as near as
    there is one."""
    members = [each for each in found if (owner := _class(each)) in names.near or owner in names.imported]
    others = [each for each in found if not _class(each) and stem(each.path) in names.modules]
    near = {each.path: _nearness(each.path, path, names) for each in others}
    return members + [each for each in others if near[each.path] == max(near.values())]


def _nearness(file: str, path: str, names: Names) -> tuple[int, int]:
    """How many of the names at the end of a file's module are in imports, and how many folders it shares with `path`
    from the root on."""
    said = list(takewhile(names.modules.__contains__, reversed(module(file))))
    pairs = zip(file.split("/")[:-1], path.split("/")[:-1], strict=False)
    return len(said), len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def _class(found: Found) -> str:
    """The class whose member it is; a class in another is found by its own name."""
    if found.symbol.kind == "class":
        return ""
    receiver = _RECEIVER.match(found.symbol.text)
    return receiver[1] if receiver else found.symbol.parent


def _ties(found: Found, path: str, family: str, names: Names) -> float:
    """How much speaks for `found` being what its name means in the file `path`."""
    symbol, parts = found.symbol, module(found.path)
    folder = parts[-2] if len(parts) > 1 else ""
    score = 2.0 if parts[-1] in names.modules else 0.0
    score += 1.0 if folder in names.modules else 0.0
    score += 1.0 if _folder(found.path) == _folder(path) else 0.0
    if owner := _class(found):
        # A member is used after a dot, and its class is more telling when it is known.
        used = any(symbol.name in members for members in names.uses.values())
        return score - 1.0 if used and (parts[-1] in names.modules or owner in names.near) else -9.0
    if names.brings(symbol.name, parts):
        return score + 2.0
    if symbol.name in names.uses.get(folder if family == "go" else parts[-1], ()):
        return score + 2.0
    return score - 2.0 if family in NEEDS_IMPORT else score


def _modules(index: Store, path: str, family: str, names: Names) -> list[Scored]:
    """What modules hold that are imported as a whole and used near the cursor. In C nothing is used through a file."""
    made: list[Scored] = []
    if family == "c":
        return made
    for owner in names.modules & names.uses.keys():
        for file in index.files(owner, family):
            folder = ["", *module(file)][-2]
            if file == path or folder not in names.modules | {_folder(path).lower(), ""}:
                continue
            used = names.uses[owner]
            for each in index.in_file(file, 40):
                hidden = each.symbol.name.startswith("_")
                score = LEAST + (1.0 if each.symbol.name in used else 0.0) - (0.5 if hidden else 0.0)
                if each.symbol.kind != "constant":
                    made.append(Scored(score, _part(each, f"in {owner}, which is imported")))
    return made


def _why(found: Found, names: Names, imported: bool) -> str:
    how = "imported" if imported or found.symbol.name in names.imported else "named"
    return f"defines {found.symbol.name}, {how} here"


def _part(found: Found, why: str) -> Part:
    symbol = found.symbol
    text = f"class {symbol.parent}:\n{symbol.text}" if symbol.parent and found.path.endswith(".py") else symbol.text
    return Part(found.path, symbol.row, text, why)


def _folder(path: str) -> str:
    return path.rpartition("/")[0].rpartition("/")[2]
