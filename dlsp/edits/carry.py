"""The sites of the last edit in a workspace: found, offered, and moved along while documents change."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from dlsp.edits.fixes.unknown import concerns
from dlsp.edits.history.edit import Edit
from dlsp.edits.history.history import Change, History, Step
from dlsp.edits.history.hunks import Hunk
from dlsp.edits.rank.proposals import Proposal
from dlsp.edits.search.page import Page


@dataclass(frozen=True)
class Offer:
    """A proposed edit: in the document `uri`, replace the lines `old` at `hunk` by the hunk's lines.

    `confidence` is from 0 to 1. `certain`: scopes and imports alone prove that the edit must follow here; only certain
    offers are applied by "apply all".
    """

    id: str
    uri: str
    hunk: Hunk
    old: tuple[str, ...]
    confidence: float
    certain: bool = False

    def holds(self, lines: Sequence[str]) -> bool:
        """Whether the document's lines still equal `old`."""
        return tuple(lines[self.hunk.start : self.hunk.end]) == self.old and self.hunk.start <= len(lines)


def after(offers: Iterable[Offer], uri: str, change: Edit) -> list[Offer]:
    """The offers after a change of the document `uri`: shifted with their lines, dropped if the change touches
    these."""
    kept: list[Offer] = []
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
# Returns the other documents and files that may have sites of an edit.
Pages = Callable[[Edit], Awaitable[Sequence[Page]]]


@dataclass
class Carried:
    """The offers of the history step `number`, after which its document had the text `text`; `whole` once all its sites
    have been judged, by what was `reported`."""

    number: int
    text: str
    reported: frozenset[tuple[str, Hunk | None]] = frozenset()
    offers: list[Offer] = field(default_factory=list[Offer])
    whole: bool = False


class Carry:
    """Keeps the offers of the last edit: call `changed` for every change of a document, `ask` to find the sites."""

    def __init__(self, history: History | None = None) -> None:
        self.history = history or History()
        self._known = Carried(0, "")
        self._made = 0  # counter for ids, which are never reused
        self._dismissed: set[tuple[int, str, tuple[str, ...], tuple[str, ...]]] = set()  # of the history's steps

    def changed(self, uri: str, text: str) -> Change:
        """Record that a document now has this text; returns what kind of change that was."""
        old = self.history.text(uri)
        change = self.history.changed(uri, text)
        if change is Change.CARRIED and old is not None:
            self._known.offers = after(self._known.offers, uri, Edit.between("", old, text))
        elif change is not Change.NONE:
            self._known = Carried(0, "")
        self._expect()
        return change

    def known(self) -> list[Offer] | None:
        """The offers of the last edit; None if they are not all found yet."""
        return self._open() if self._is_known(self.history.last) and self._known.whole else None

    async def ask(self, propose: Propose, own: Page, edit: Edit, pages: Pages) -> AsyncGenerator[Offer]:
        """Yield the offers for `edit`, the last one, as they are found; `own` is the page of its document. Where other
        errors are reported of it than before, more may be found."""
        step = self.history.last
        if step is None:
            return
        if not self._is_known(step):
            self._known = Carried(step.number, step.after)
        if self._known.reported != (reported := concerns(own)):
            self._known.reported, self._known.whole = reported, False
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
        """Dismiss the offers with these ids, or all, for the present edit."""
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
