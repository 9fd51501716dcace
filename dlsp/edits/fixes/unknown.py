"""Names that are unknown where the edit wrote them."""

import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dlsp.edits.history.hunks import Hunk
from dlsp.edits.search.arguments import OF_ARGUMENTS
from dlsp.edits.search.page import Page
from dlsp.edits.search.tokens import WORD
from dlsp.syntax.scopes.names import Scope


@dataclass(frozen=True)
class Unknown:
    """A name at an offset that nothing binds, and the scopes in which it is looked up."""

    name: str
    offset: int
    scopes: tuple[Scope, ...]


def unknown(page: Page) -> Iterator[Unknown]:
    """Yield the names in the lines that the edit wrote of which an error is reported, and which nothing binds there.

    The report may be older than the text: the names are those of the text now.
    """
    for error in {each.offset: each for each in page.errors}.values():
        found = WORD.match(page.text, error.offset)
        if found is None or page.names is None or not page.is_edited_at(error.offset):
            continue
        name, use = found[0], page.names.uses(found[0]).get(error.offset)
        is_told = re.search(rf"\b{re.escape(name)}\b", error.message) and not OF_ARGUMENTS.search(error.message)
        if is_told and use and use.kind == "name" and use.bound is None and not is_builtin(page, name):
            yield Unknown(name, error.offset, use.scopes)


def concerns(page: Page) -> frozenset[tuple[str, Hunk | None]]:
    """What is reported of the page that can bear on the edit, with its fix: of its own lines, and of arguments."""
    bearing = (each for each in page.errors if page.is_edited_at(each.offset) or OF_ARGUMENTS.search(each.message))
    return frozenset((each.message, each.fix) for each in bearing)


def is_builtin(page: Page, name: str) -> bool:
    """Whether Python itself has the name."""
    return page.language is not None and page.language.name == "python" and hasattr(builtins, name)
