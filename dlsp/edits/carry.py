"""The sites of the last edit of a workspace: found, judged, offered, and kept true while documents change."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from dlsp.edits.history.edit import Edit
from dlsp.edits.history.history import Change, History, Step
from dlsp.edits.history.hunks import Hunk
from dlsp.edits.rank.proposals import Proposal
from dlsp.edits.search.page import Page


@dataclass(frozen=True)
class Offer:
    """In the document `uri`, whose lines at `hunk` are `old` now, the hunk's lines should stand.

    `confidence` is from 0 to 1; `certain` says that scopes and imports alone decide it: only then it goes with "all".
    """

    id: str
    uri: str
    hunk: Hunk
    old: tuple[str, ...]
    confidence: float
    certain: bool = False

    def holds(self, lines: Sequence[str]) -> bool:
        """Whether the document's lines are still those that this was offered for."""
        return tuple(lines[self.hunk.start : self.hunk.end]) == self.old and self.hunk.start <= len(lines)


def after(offers: Iterable[Offer], uri: str, change: Edit) -> list[Offer]:
    """The offers after a change of the document `uri`: moved with their lines, dropped where these were touched."""
    kept = []
    for offer in offers:
        if offer.uri != uri:
            kept.append(offer)
        elif not any(offer.hunk.touches(each) for each in change.hunks):
            above = [each for each in change.hunks if each.end <= offer.hunk.start]
            shift = sum(len(each.lines) - (each.end - each.start) for each in above)
            moved = replace(offer.hunk, start=offer.hunk.start + shift, end=offer.hunk.end + shift)
            kept.append(replace(offer, hunk=moved))
    return kept


Propose = Callable[[Edit, Page, Sequence[Page]], AsyncGenerator[Proposal]]
# The documents and files beside the edit's own where it may have sites.
Pages = Callable[[Edit], Awaitable[Sequence[Page]]]


@dataclass
class Carried:
    """What is known of the step `number`; `whole` once all its sites were judged."""

    number: int
    text: str
    offers: list[Offer] = field(default_factory=list)
    whole: bool = False


class Carry:
    """`history` is told of every change by `changed`; `ask` finds the sites of the last edit."""

    def __init__(self, history: History | None = None) -> None:
        self.history = history or History()
        self._known = Carried(0, "")
        self._made = 0  # no id is given twice
        self._dismissed: set[tuple[int, str, tuple[str, ...], tuple[str, ...]]] = set()  # of the history's steps

    def changed(self, uri: str, text: str) -> Change:
        """A document has this text now."""
        old = self.history.text(uri)
        change = self.history.changed(uri, text)
        if change is Change.CARRIED and old is not None:
            self._known.offers = after(self._known.offers, uri, Edit.between("", old, text))
        elif change is not Change.NONE:
            self._known = Carried(0, "")
        self._expect()
        return change

    def known(self) -> list[Offer] | None:
        """The offers of the last edit, if they are known."""
        return self._open() if self._is_known(self.history.last) and self._known.whole else None

    async def ask(self, propose: Propose, own: Page, edit: Edit, pages: Pages) -> AsyncGenerator[Offer]:
        """The offers as they become known; `edit` is the last one, `own` the page of its document."""
        step = self.history.last
        if step is None:
            return
        if not self._is_known(step):
            self._known = Carried(step.number, step.after)
        for offer in self._open():
            yield offer
        if self._known.whole:
            return
        known = self._known
        async for proposal in propose(edit, own, await pages(edit)):
            site = proposal.site
            if known is not self._known:
                return
            if any(offer.uri == site.page.uri and offer.hunk.touches(proposal.hunk) for offer in known.offers):
                continue
            self._made += 1
            offer = Offer(
                str(self._made), site.page.uri, proposal.hunk, site.old, proposal.confidence, proposal.certain
            )
            known.offers.append(offer)
            self._expect()
            if not self._is_dismissed(offer):
                yield offer
        known.whole = True

    def dismiss(self, ids: Collection[str] | None = None) -> None:
        """Do not offer these, or any, for this edit again."""
        for offer in self._known.offers:
            if ids is None or offer.id in ids:
                kept = self.history.numbers
                self._dismissed = {each for each in self._dismissed if each[0] in kept}
                self._dismissed.add((self._known.number, offer.uri, offer.old, offer.hunk.lines))

    def _is_known(self, step: Step | None) -> bool:
        return step is not None and (self._known.number, self._known.text) == (step.number, step.after)

    def _open(self) -> list[Offer]:
        return [offer for offer in self._known.offers if not self._is_dismissed(offer)]

    def _is_dismissed(self, offer: Offer) -> bool:
        return (self._known.number, offer.uri, offer.old, offer.hunk.lines) in self._dismissed

    def _expect(self) -> None:
        for uri in {offer.uri for offer in self._known.offers}:
            self.history.expect(uri, [offer.hunk for offer in self._known.offers if offer.uri == uri])
