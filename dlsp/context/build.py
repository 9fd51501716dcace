"""Build the whole context of a gap within one token budget."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import cache, lru_cache

from dlsp.context import elsewhere, window
from dlsp.context.names import Names
from dlsp.context.pairs import pair
from dlsp.context.parts import Context, Part
from dlsp.context.recent import Recent
from dlsp.context.siblings import WHY, siblings
from dlsp.context.structure import Structure, structure
from dlsp.context.tokens import DEFAULT_TOKENS, tail
from dlsp.ignore import Rules, Verdicts
from dlsp.ignore.values import without_secrets
from dlsp.index.store import Store
from dlsp.syntax.source import Source

# What the context has besides the lines around the gap; the last two come from other language servers (see `told`).
SOURCES = ("siblings", "imports", "signatures", "definitions", "pairs", "recent", "types", "diagnostics")
# Of these, what is left out. With siblings more is completed, but less of what is shown is right
# (docs/notes/typing.md); what types and diagnostics are worth has yet to be measured.
LEFT_OUT = ("siblings", "types", "diagnostics")
# Shares of the budget for other files and for the text after the gap. The prefix gets the remainder. Places of the file
# itself that are like the cursor's take what they need from the other files' share, which is the larger.
OTHER_FILES_SHARE, SUFFIX_SHARE, SIBLINGS_SHARE = 0.35, 0.25, 0.25
# The least share of the prefix; the statement under the cursor may take more than SUFFIX_SHARE from the rest.
MIN_PREFIX_SHARE = 0.25
# Shares of the other files' budget, served in this order.
DEFINITIONS_SHARE, RECENT_SHARE, PAIR_SHARE = 1.0, 0.4, 0.4
# Estimated tokens of a file's name in the prompt.
_FILE_NAME_TOKENS = 6


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
    budget: int = DEFAULT_TOKENS,
    without: Collection[str] = LEFT_OUT,
) -> Context:
    """Return the context of the gap between `before` and `after` in `path`, which is relative to the workspace.

    The caller must check that `path` itself may be read; other files are checked here. Without `rules` no other file is
    used. The other files of `previous` are kept if they still cover what is wanted. `without` names sources, of
    SOURCES, that are not used.
    """
    # Cached, because it is slow where the text does not parse.
    place = cache(lambda: structure(source, before, after) if source else None)
    rest = budget - int(budget * MIN_PREFIX_SHARE)
    follows = window.suffix(place, path, before, after, int(budget * SUFFIX_SHARE), rest)
    rest -= follows.tokens
    others_budget = min(int(budget * OTHER_FILES_SHARE), rest)
    alike: tuple[Part, ...] = ()
    if source and source.language.has_definitions and "siblings" not in without:
        row = before.count("\n")
        start = before.count("\n", 0, tail(before, rest - others_budget))
        known = [part for part in previous.prefix if part.why == WHY] if previous else []
        shown = range(start, row + follows.text.count("\n") + 1)
        alike = siblings(path, before, after, shown, min(int(budget * SIBLINGS_SHARE), others_budget), known)
        rest -= _tokens(alike)
        others_budget -= _tokens(alike)
    others = _others(path, before, after, source, place, index, rules, recent, others_budget, without)
    if previous and rules and _cost(previous.others) <= rest and _serves(previous, others, rules):
        others = previous.others
    left = budget - follows.tokens - _tokens(alike) - _cost(others)
    return Context(others, window.prefix(place, path, before, left, alike, without), follows)


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
    without: Collection[str],
) -> tuple[Part, ...]:
    chosen: list[Part] = []
    if rules is None:
        return ()
    if index and source and source.language.has_definitions:
        family = source.language.family
        if "definitions" not in without:
            found = elsewhere.definitions(index, rules, path, family, Names(before, after, place()))
            _take(chosen, (each.part for each in found), int(budget * DEFINITIONS_SHARE), budget)
        if "pairs" not in without:
            _take(chosen, pair(index, rules, path, family), int(budget * PAIR_SHARE), budget)
    if recent and "recent" not in without:
        regions = (part for part in recent.parts(path) if not rules.excludes_source(rules.root / part.path))
        _take(chosen, regions, int(budget * RECENT_SHARE), budget)
    # The order does not depend on scores, so that the next anchor can reuse what was prefilled for the previous one.
    return tuple(sorted(chosen, key=lambda part: (part.path, part.row)))


def _serves(previous: Context, others: tuple[Part, ...], rules: Rules | Verdicts) -> bool:
    """Whether the previous parts include all that is wanted now and may still be read."""
    paths = {part.path for part in previous.others}
    held = set(previous.others) >= set(others)
    return held and not any(rules.excludes_source(rules.root / path) for path in paths)


def _take(chosen: list[Part], parts: Iterable[Part], most: int, budget: int) -> None:
    """Add parts to `chosen` while they fit: `most` tokens of these and `budget` tokens in all; a long part is cut."""
    start = _cost(chosen)
    for part in map(_without_secrets, parts):
        if any(part.path == other.path and _overlap(part, other) for other in chosen):
            continue
        spent = _cost(chosen)
        left = min(most - (spent - start), budget - spent)
        left -= 0 if any(part.path == other.path for other in chosen) else _FILE_NAME_TOKENS
        cut = part.cut(min(left, budget // 2))
        if cut.text.strip() and (cut is part or cut.text.count("\n") > 2):  # a few first lines alone are of little use
            chosen.append(cut)
        elif left < 4:
            return


@lru_cache(maxsize=512)
def _without_secrets(part: Part) -> Part:
    return replace(part, text=without_secrets(part.text))


def _overlap(one: Part, other: Part) -> bool:
    return one.row <= other.row + other.text.count("\n") and other.row <= one.row + one.text.count("\n")


def _tokens(parts: Iterable[Part]) -> int:
    return sum(part.tokens for part in parts)


def _cost(parts: Iterable[Part]) -> int:
    parts = list(parts)
    return _tokens(parts) + _FILE_NAME_TOKENS * len({part.path for part in parts})
