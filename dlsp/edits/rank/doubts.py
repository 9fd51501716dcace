"""What scopes and imports leave open after a rename, for other language servers to say, and what follows from that."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dlsp.edits.history.edit import Edit
from dlsp.edits.rank.sites import is_unfinished
from dlsp.edits.search.binding import Binding, Verdict
from dlsp.edits.search.page import Page, in_time
from dlsp.edits.search.rules import rules_of
from dlsp.edits.search.standing import LOCAL, SELF_NAMES
from dlsp.edits.search.tokens import PROSE
from dlsp.syntax.scopes.names import Scope, Use

# The most places in doubt that other language servers are asked about.
MAX_OPEN = 16
# The most bytes of a class's first line that are read.
MAX_HEAD_BYTES = 400
# What stands behind a name that is assigned to or declared.
_ASSIGNED = re.compile(r"[ \t]*(?::[^=\n]+)?(?:[-+*/%&|^@]|//|\*\*|<<|>>)?=(?!=)")


class Place(NamedTuple):
    """A name at an offset in the document `uri`."""

    uri: str
    offset: int


@dataclass(frozen=True)
class Doubts:
    """A rename from `old` to `new`, and places of the old name.

    `kept` binds the old name still, where the edit bound the new one: it means what the edit renamed. None if there is
    none. `open`: scopes and imports do not decide whether the edit must follow there. `certain`: it must. `linked`: an
    import of the old name, or a place in a class that inherits from the one whose member was renamed, or the other way
    round: what a server finds there after the edit may be what was renamed.
    """

    old: str
    new: str
    kept: Place | None
    open: tuple[Place, ...]
    certain: frozenset[Place]
    linked: frozenset[Place]


def doubts(edit: Edit, own: Page, pages: Sequence[Page], until: float = math.inf) -> Doubts | None:
    """The doubts about an edit that renamed one name where it is bound; None for another edit, or if there is nothing
    to ask. `own` is the page of the edit."""
    rules = [rule for rule in rules_of(edit, own, until) if rule.kind == "rename" and rule.role not in PROSE]
    if len({(rule.old, rule.new) for rule in rules}) != 1 or not rules[0].only or is_unfinished(edit, own):
        return None
    old, new, binding = rules[0].old[0], rules[0].new, Binding(rules[0], own, until, pages)
    homes = {scope for scope in binding.scopes if scope.kind == "class"}
    for at, use in binding.new.items():
        if use.home and own.is_edited_at(at) and _is_set(own, at, new, use):
            homes.add(use.home)
    is_local = not homes and all(scope.kind in LOCAL for scope in binding.scopes)
    if not (binding.scopes or homes) or binding.is_taken or binding.is_unfinished:
        return None
    kept: Place | None = None
    found, certain, linked = list[Place](), set[Place](), set[Place]()
    for page in in_time([page for page in pages if page.speaks_as(own)], until):
        for offset, use in binding.uses(old, page).items():
            place, verdict = Place(page.uri, offset), binding.verdict(page, offset)
            if use.module is not None or _inherits(page, use, own, homes):
                linked.add(place)
            if verdict is Verdict.CERTAIN:
                certain.add(place)
            elif verdict is not Verdict.REFUSED:
                found.append(place)
            binds = verdict is Verdict.CERTAIN and use.binds is not None and use.module is None
            if kept is None and not is_local and (binds or (_is_set(page, offset, old, use) and use.home in homes)):
                kept = place
    if not found and kept is None:
        return None
    return Doubts(old, new, kept, tuple(found[:MAX_OPEN]), frozenset(certain), frozenset(linked))


def settle(
    doubts: Doubts, pages: Sequence[Page], renamed: Collection[Place], references: Sequence[Collection[Place]]
) -> None:
    """Note on the pages what follows from the answers: what a server would rename together with `kept`, and for each
    open place the references to what is named there.

    The former must follow the edit. An open place with references is none of it if none of them is: after the edit, a
    server knows what the name means there without what was renamed.
    """
    told = dict.fromkeys(renamed, True) if doubts.kept in renamed else dict[Place, bool]()
    known = doubts.certain | doubts.linked | told.keys()
    for place, found in zip(doubts.open, references, strict=False):
        if place not in told and place in found and len(found) > 1 and known.isdisjoint(found):
            told[place] = False
    for page in pages:
        page.told.update({place.offset: follows for place, follows in told.items() if place.uri == page.uri})


def _is_set(page: Page, offset: int, name: str, use: Use) -> bool:
    """Whether a member of the instance or class itself is assigned to, or declared so."""
    is_own = use.kind == "member" and use.of in SELF_NAMES and use.home is not None
    return is_own and _ASSIGNED.match(page.text, offset + len(name)) is not None


def _inherits(page: Page, use: Use, own: Page, homes: Collection[Scope]) -> bool:
    """Whether a name is in a class that seems to inherit from one of `homes`, or to be its base."""
    if use.home is None or not homes or use.home in homes:
        return False
    names = {home.name for home in homes}
    return bool(names & _head(page, use.home)) or any(use.home.name in _head(own, home) for home in homes)


def _head(page: Page, scope: Scope) -> set[str]:
    """The words before a class's body."""
    content = page.source.bytes if page.source else b""
    head = content[scope.start : min(scope.end, scope.start + MAX_HEAD_BYTES)].decode("utf-8", "replace")
    return set(re.findall(r"\w+", re.split(r"[{]|:\n", head)[0]))
