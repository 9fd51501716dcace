"""The whole context of a gap within one budget."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, lru_cache

from dlsp.context import elsewhere, window
from dlsp.context.budget import TOKENS
from dlsp.context.names import Names
from dlsp.context.pairs import pair
from dlsp.context.parts import Context, Part
from dlsp.context.recent import Recent
from dlsp.context.structure import Structure, structure
from dlsp.ignore import Rules, Verdicts
from dlsp.ignore.values import without_secrets
from dlsp.index.store import Store
from dlsp.syntax.source import Source

# Shares of the budget: other files, the text after the gap. The prefix has the rest, and what those leave.
OTHERS, SUFFIX = 0.35, 0.25
# At least: the statement under the cursor may need more than the share of the text after the gap.
PREFIX = 0.25
# Shares of the other files' share, given in this order to what asks for it.
DEFINITIONS, RECENT, PAIR = 1.0, 0.4, 0.4
# Tokens for the name of a file.
_A_FILE = 6


def build(
    path: str,
    before: str,
    after: str,
    *,
    source: Source | None = None,
    index: Store | None = None,
    rules: Rules | Verdicts | None = None,
    recent: Recent | None = None,
    previous: Context | None = None,
    budget: int = TOKENS,
) -> Context:
    """The context of the gap between `before` and `after` in the file `path` (as the workspace sees it).

    Whether `path` itself may be read is the caller's to ask; the other sources are asked here. Without `rules` there
    are none. The other files of `previous` are taken again if nothing new is asked of them.
    """
    # Once for all: it takes long where the text is broken.
    place = cache(lambda: structure(source, before, after) if source else None)
    rest = budget - int(budget * PREFIX)
    follows = window.suffix(place, path, before, after, int(budget * SUFFIX), rest)
    rest -= follows.tokens
    others = _others(path, before, after, source, place, index, rules, recent, min(int(budget * OTHERS), rest))
    if previous and rules and _cost(previous.others) <= rest and _serves(previous, others, rules):
        others = previous.others
    left = budget - follows.tokens - _cost(others)
    return Context(others, window.prefix(place, path, before, left), follows)


def _others(
    path: str,
    before: str,
    after: str,
    source: Source | None,
    place: Callable[[], Structure | None],
    index: Store | None,
    rules: Rules | Verdicts | None,
    recent: Recent | None,
    budget: int,
) -> tuple[Part, ...]:
    chosen: list[Part] = []
    if rules is None:
        return ()
    if index and source and source.language.has_definitions:
        family = source.language.family
        names = Names(before, after, place())
        found = elsewhere.definitions(index, rules, path, family, names)
        _take(chosen, (each.part for each in found), int(budget * DEFINITIONS), budget)
        _take(chosen, pair(index, rules, path, family), int(budget * PAIR), budget)
    if recent:
        regions = (part for part in recent.parts(path) if not rules.excludes_source(rules.root / part.path))
        _take(chosen, regions, int(budget * RECENT), budget)
    # An order that does not depend on scores: what was prefilled for the anchor before is prefilled for the next.
    return tuple(sorted(chosen, key=lambda part: (part.path, part.row)))


def _serves(previous: Context, others: tuple[Part, ...], rules: Rules | Verdicts) -> bool:
    """Whether the files before hold all that is wanted now, and may still be read."""
    paths = {part.path for part in previous.others}
    held = set(previous.others) >= set(others)
    return held and not any(rules.excludes_source(rules.root / path) for path in paths)


def _take(chosen: list[Part], parts: Iterable[Part], most: int, budget: int) -> None:
    """Add parts to `chosen` while they fit, `most` tokens of these and `budget` in all; a long one is cut."""
    start = _cost(chosen)
    for part in map(_without_secrets, parts):
        if any(part.path == other.path and _overlap(part, other) for other in chosen):
            continue
        spent = _cost(chosen)
        left = min(most - (spent - start), budget - spent)
        left -= 0 if any(part.path == other.path for other in chosen) else _A_FILE
        cut = part.cut(min(left, budget // 2))
        if cut.text.strip() and (cut is part or cut.text.count("\n") > 2):  # the head alone says little
            chosen.append(cut)
        elif left < 4:
            return


@lru_cache(maxsize=512)
def _without_secrets(part: Part) -> Part:
    return replace(part, text=without_secrets(part.text))


def _overlap(one: Part, other: Part) -> bool:
    return one.row <= other.row + other.text.count("\n") and other.row <= one.row + one.text.count("\n")


def _cost(parts: Iterable[Part]) -> int:
    parts = list(parts)
    return sum(part.tokens for part in parts) + _A_FILE * len({part.path for part in parts})
