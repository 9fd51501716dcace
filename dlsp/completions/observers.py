"""Observers of completion requests other than the decision log: skip counters, the latest suggestions, the learner."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dlsp.completions.cache import MATCHED_CHARACTERS
from dlsp.completions.gate.learning import Learning
from dlsp.completions.types import Completed, Cursor

# Outcomes between two saves of what was learned.
OUTCOMES_PER_SAVE = 20
# Suggestions that an editor may still report about.
KEPT_OFFERS = 64


class Silent:
    """An observer that does nothing; subclasses override the events they need."""

    def requested(self, cursor: Cursor) -> None: ...
    def completed(self, completed: Completed) -> None: ...
    def cancelled(self) -> None: ...


class SkipCounters(Silent):
    """Counts skip reasons for the engine's metrics; the next engine request carries the counts."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def completed(self, completed: Completed) -> None:
        if completed.result.skip:
            self._counts[completed.result.skip.code] += 1

    def take(self) -> dict[str, int]:
        """Return the counts since the last call and reset them."""
        counts, self._counts = dict(self._counts), Counter()
        return counts

    def restore(self, counts: Mapping[str, int]) -> None:
        """Add counts back after the request that carried them failed."""
        self._counts.update(counts)


class Offered(Silent):
    """The texts of the latest suggestions, by id."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def completed(self, completed: Completed) -> None:
        if completed.id:
            self._texts[completed.id] = completed.result.text
            if len(self._texts) > KEPT_OFFERS:
                del self._texts[next(iter(self._texts))]

    def text(self, id: str) -> str | None:
        return self._texts.get(id)

    def forget(self, id: str) -> None:
        self._texts.pop(id, None)


@dataclass
class Pending:
    """A suggestion whose outcome is open; its first line, `line_text`, belongs at offset `at`, after the text
    `near`."""

    id: str
    uri: str
    language_id: str
    line: int
    at: int
    near: str
    line_text: str
    text: str
    probability: float
    shown: bool = False


class AcceptanceLearner(Silent):
    """Learns how often suggestions are right, from those that the editor reports as shown.

    A suggestion was right if accepted or typed exactly, wrong if dismissed or typed differently. `counts` are the
    numbers of suggestions `shown`, `accepted`, `partly` accepted and `dismissed`. `save` writes what was learned to
    disk.
    """

    def __init__(self, learning: Learning, save: Callable[[], object]) -> None:
        self.counts: Counter[str] = Counter()
        self._learning, self._save = learning, save
        self._cursor: Cursor | None = None
        self._pending: Pending | None = None
        self._outcomes = 0

    def requested(self, cursor: Cursor) -> None:
        """Check whether the pending suggestion was typed or contradicted, given the document as in `cursor`."""
        self._cursor = cursor
        pending = self._pending
        if pending is None or pending.uri != cursor.uri:
            return
        typed = cursor.before[pending.at :]
        if cursor.before[max(0, pending.at - len(pending.near)) : pending.at] != pending.near:
            self._pending = None  # text was deleted or edited elsewhere: the outcome is unknown
        elif typed.startswith(pending.line_text):
            self._learn(right=True)
        elif not pending.line_text.startswith(typed):
            self._learn(right=False)

    def completed(self, completed: Completed) -> None:
        """Note a suggestion that goes to the editor as pending."""
        result, cursor, pending = completed.result, self._cursor, self._pending
        if not result.text or cursor is None or cursor.uri != completed.uri:
            return
        at = len(cursor.before)
        if pending and pending.uri == cursor.uri and pending.at + len(pending.text) == at + len(result.text):
            pending.id = completed.id  # the rest of the pending suggestion
            return
        self._pending = None
        probability = result.verdict.probability if result.verdict else None
        if probability is None:
            return
        lead = len(result.text) - len(result.text.lstrip())
        line_text = result.text[: lead + len(result.text[lead:].split("\n")[0].rstrip("\r"))]
        near, row = cursor.before[-MATCHED_CHARACTERS:], cursor.position.line
        self._pending = Pending(
            completed.id, cursor.uri, cursor.language_id, row, at, near, line_text, result.text, probability
        )

    def shown(self, text: str, id: str | None = None) -> None:
        """The editor showed a suggestion, identified by `id` or else by its text."""
        self.counts["shown"] += 1
        if pending := self._found(text, id):
            pending.shown = True

    def accepted(self, text: str, length: int, id: str | None = None) -> None:
        """The user accepted `length` UTF-16 units of a suggestion: all of it, or a part."""
        whole = length >= len(text.encode("utf-16-le", "replace")) // 2
        self.counts["accepted" if whole else "partly"] += 1
        if self._found(text, id):
            self._learn(right=True)

    def dismissed(self, text: str, id: str | None = None) -> tuple[str, int] | None:
        """The user dismissed a suggestion: returns its URI and line, None if it is not the pending one."""
        self.counts["dismissed"] += 1
        pending = self._found(text, id)
        if pending:
            self._learn(right=False)
        return (pending.uri, pending.line) if pending else None

    def _found(self, text: str, id: str | None) -> Pending | None:
        pending = self._pending
        if pending is None or not text:
            return None
        return pending if (pending.id == id if id else pending.text.endswith(text)) else None

    def _learn(self, right: bool) -> None:
        pending, self._pending = self._pending, None
        if pending and pending.shown:
            self._learning.saw(pending.language_id, pending.probability, right)
            self._outcomes += 1
            if self._outcomes % OUTCOMES_PER_SAVE == 0:
                self._save()
