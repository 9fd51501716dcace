"""The name in scope that an unknown name is a misspelling of."""

import builtins
import re
from collections.abc import Iterator

from dlsp.edits.fixes.unknown import Unknown, is_builtin
from dlsp.edits.search.page import Page
from dlsp.edits.search.tokens import PROSE

# The length from which a name may have one wrong letter, and two.
ONE_FROM, TWO_FROM = 4, 8
_NUMBER = re.compile(r"_?\d+")


def meant(unknown: Unknown, page: Page) -> str | None:
    """The name nearest to an unknown one, of those in scope where it stands; None if there is none or several."""
    near = {name: far for name in {*_words(page)} if (far := distance(unknown.name, name)) is not None}
    found = {name: far for name, far in near.items() if _is_in_scope(name, unknown, page)}
    nearest = [name for name, far in found.items() if far == min(found.values())]
    return nearest[0] if len(nearest) == 1 else None


def _words(page: Page) -> Iterator[str]:
    yield from (token.text for token in page.tokens if token.is_word and token.role not in PROSE)
    if page.language and page.language.name == "python":
        yield from (name for name in dir(builtins) if not name.startswith("_"))


def _is_in_scope(name: str, unknown: Unknown, page: Page) -> bool:
    uses = page.names.uses(name).values() if page.names else ()
    return any(use.binds in unknown.scopes for use in uses if use.binds) or is_builtin(page, name)


def distance(one: str, other: str) -> int | None:
    """How many letters are wrong, missing, too many or exchanged with the next one, if these are so few that one name
    may be a misspelling of the other; else None. Names that begin otherwise, or differ in numbers alone, are different
    names.
    """
    most = (len(one) >= ONE_FROM) + (len(one) >= TWO_FROM)
    if abs(len(one) - len(other)) > most or one[:1] != other[:1]:
        return None
    if _NUMBER.sub("", one) == _NUMBER.sub("", other):
        return None
    found = _aligned(one, other)
    return found if found <= most else None


def _aligned(one: str, other: str) -> int:
    """The optimal string alignment distance."""
    above: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        above, before, row = row, above, [i]
        for j, its in enumerate(other, 1):
            least = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != its))
            if before and j > 1 and letter == other[j - 2] and one[i - 2] == its:
                least = min(least, before[j - 2] + 1)
            row.append(least)
    return row[-1]
