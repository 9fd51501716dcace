"""Scores how likely a definition in another file is the one that a name refers to."""

import re
from itertools import takewhile

from dlsp.context.names import Names
from dlsp.index.store import Found, module, stem

# A Go method's receiver.
_RECEIVER = re.compile(r"func \(\s*(?:\w+\s+)?\*?(\w+)")
# Language families in which a name from another file must be imported.
NEEDS_IMPORT = {"python", "javascript", "rust"}


def meant(found: list[Found], path: str, names: Names) -> list[Found]:
    """Narrow down many definitions of one name.

    Kept are members of a class that is also named, and of the imported ones those in the nearest files.
    """
    members = [each for each in found if (owner := class_of(each)) in names.near or owner in names.imported]
    others = [each for each in found if not class_of(each) and stem(each.path) in names.modules]
    near = {each.path: _nearness(each.path, path, names) for each in others}
    return members + [each for each in others if near[each.path] == max(near.values())]


def _nearness(file: str, path: str, names: Names) -> tuple[int, int]:
    """How many trailing parts of the file's module path are imported, and how many leading folders it shares with
    `path`."""
    said = list(takewhile(names.modules.__contains__, reversed(module(file))))
    pairs = zip(file.split("/")[:-1], path.split("/")[:-1], strict=False)
    return len(said), len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def class_of(found: Found) -> str:
    """The class that the definition is a member of; "" for a class itself, which is looked up by its own name."""
    if found.symbol.kind == "class":
        return ""
    receiver = _RECEIVER.match(found.symbol.text)
    return receiver[1] if receiver else found.symbol.parent


def ties(found: Found, path: str, family: str, names: Names) -> float:
    """The score of `found` as the definition that its name refers to in the file `path`."""
    symbol, parts = found.symbol, module(found.path)
    folder = parts[-2] if len(parts) > 1 else ""
    score = 2.0 if parts[-1] in names.modules else 0.0
    score += 1.0 if folder in names.modules else 0.0
    score += 1.0 if folder_of(found.path) == folder_of(path) else 0.0
    if owner := class_of(found):
        # A member is used after a dot; if its class is known, that says more.
        used = any(symbol.name in members for members in names.uses.values())
        return score - 1.0 if used and (parts[-1] in names.modules or owner in names.near) else -9.0
    if names.brings(symbol.name, parts):
        return score + 2.0
    if symbol.name in names.uses.get(folder if family == "go" else parts[-1], ()):
        return score + 2.0
    return score - 2.0 if family in NEEDS_IMPORT else score


def folder_of(path: str) -> str:
    return path.rpartition("/")[0].rpartition("/")[2]
