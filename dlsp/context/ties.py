"""How much speaks for a definition in another file being what a name stands for."""

import re
from itertools import takewhile

from dlsp.context.names import Names
from dlsp.index.store import Found, module, stem

# Go's way to say whose member a function is.
_RECEIVER = re.compile(r"func \(\s*(?:\w+\s+)?\*?(\w+)")
# Families in which a name of another file is not seen without importing it.
NEEDS_IMPORT = {"python", "javascript", "rust"}


def meant(found: list[Found], path: str, names: Names) -> list[Found]:
    """Of many definitions of a name those of a class that is named too, and those that are imported, from as near as
    there is one."""
    members = [each for each in found if (owner := class_of(each)) in names.near or owner in names.imported]
    others = [each for each in found if not class_of(each) and stem(each.path) in names.modules]
    near = {each.path: _nearness(each.path, path, names) for each in others}
    return members + [each for each in others if near[each.path] == max(near.values())]


def _nearness(file: str, path: str, names: Names) -> tuple[int, int]:
    """How many of the names at the end of a file's module are in imports, and how many folders it shares with `path`
    from the root on."""
    said = list(takewhile(names.modules.__contains__, reversed(module(file))))
    pairs = zip(file.split("/")[:-1], path.split("/")[:-1], strict=False)
    return len(said), len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def class_of(found: Found) -> str:
    """The class whose member it is; a class in another is found by its own name."""
    if found.symbol.kind == "class":
        return ""
    receiver = _RECEIVER.match(found.symbol.text)
    return receiver[1] if receiver else found.symbol.parent


def ties(found: Found, path: str, family: str, names: Names) -> float:
    """How much speaks for `found` being what its name means in the file `path`."""
    symbol, parts = found.symbol, module(found.path)
    folder = parts[-2] if len(parts) > 1 else ""
    score = 2.0 if parts[-1] in names.modules else 0.0
    score += 1.0 if folder in names.modules else 0.0
    score += 1.0 if folder_of(found.path) == folder_of(path) else 0.0
    if owner := class_of(found):
        # A member is used after a dot, and its class is more telling when it is known.
        used = any(symbol.name in members for members in names.uses.values())
        return score - 1.0 if used and (parts[-1] in names.modules or owner in names.near) else -9.0
    if names.brings(symbol.name, parts):
        return score + 2.0
    if symbol.name in names.uses.get(folder if family == "go" else parts[-1], ()):
        return score + 2.0
    return score - 2.0 if family in NEEDS_IMPORT else score


def folder_of(path: str) -> str:
    return path.rpartition("/")[0].rpartition("/")[2]
