"""What became of suggestions, as editors tell it under Copilot's names. Kept here; nothing leaves the machine.

`textDocument/didShowCompletion` {item}, `textDocument/didPartiallyAcceptCompletion` {item, acceptedLength in UTF-16
units of the item's insertText}, and our own `textDocument/didDismissCompletion` {item}.
"""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dlsp.completions.cache import MATCHED_CHARACTERS

if TYPE_CHECKING:
    from dlsp.server.moment import Moment
    from dlsp.server.offer import Offer
    from dlsp.server.server import Server

SAVED_EVERY = 20
"""Outcomes after which what was learned is written down."""


@dataclass
class Pending:
    """A suggestion whose fate is open: its first line `text`, for after the offset `at`."""

    uri: str
    language: str
    line: int
    at: int
    near: str
    text: str
    whole: str
    probability: float
    shown: bool = False


class Feedback:
    """`counts`: suggestions `shown`, `accepted`, `partly` accepted and `dismissed` since the server started.

    The gate learns from those that an editor says it showed: accepted or typed as they stood, they were right.
    """

    def __init__(self, server: "Server") -> None:
        self.counts: Counter[str] = Counter()
        self._server = server
        self._pending: Pending | None = None
        self._learned = 0

    def add(self) -> None:
        """Take what the editor tells."""

        @self._server.feature("textDocument/didShowCompletion")
        def shown(params: Any) -> None:
            self.shown(_text(getattr(params, "item", None)))

        @self._server.feature("textDocument/didPartiallyAcceptCompletion")
        def partly(params: Any) -> None:
            text = _text(getattr(params, "item", None))
            self.partly(text, int(getattr(params, "acceptedLength", 0)))

        @self._server.feature("textDocument/didDismissCompletion")
        def dismissed(params: Any) -> None:
            self.dismissed(_text(getattr(params, "item", None)))

    def offered(self, moment: "Moment", made: "Offer") -> None:
        """A suggestion goes to the editor."""
        moment.typing.offered = made.text
        pending, at = self._pending, len(moment.before)
        if pending and pending.uri == moment.uri and pending.at + len(pending.whole) == at + len(made.text):
            return  # the rest of the one that is out
        probability = made.verdict.probability if made.verdict else None
        lead = len(made.text) - len(made.text.lstrip())
        line = made.text[: lead + len(made.text[lead:].split("\n")[0].rstrip("\r"))]
        self._pending = None
        if probability is not None:
            near = moment.before[-MATCHED_CHARACTERS:]
            row = moment.position.line
            self._pending = Pending(moment.uri, moment.language, row, at, near, line, made.text, probability)

    def follow(self, uri: str, before: str, after: str) -> None:
        """The document is so now, around the cursor: see what became of the suggestion that is out."""
        pending = self._pending
        if pending is None or pending.uri != uri:
            return
        typed = before[pending.at :]
        if before[max(0, pending.at - len(pending.near)) : pending.at] != pending.near:
            self._pending = None  # deleted, or edited elsewhere: nothing is known
        elif typed.startswith(pending.text):
            self._learn(right=True)
        elif not pending.text.startswith(typed):
            self._learn(right=False)

    def shown(self, text: str) -> None:
        self.counts["shown"] += 1
        if self._pending and self._pending.whole.endswith(text):
            self._pending.shown = True

    def partly(self, text: str, length: int) -> None:
        """Accepted up to `length`: all of it, or a part."""
        whole = length >= len(text.encode("utf-16-le", "replace")) // 2
        self.counts["accepted" if whole else "partly"] += 1
        if self._pending and self._pending.whole.endswith(text):
            self._learn(right=True)

    def dismissed(self, text: str) -> None:
        self.counts["dismissed"] += 1
        if self._pending and text and self._pending.whole.endswith(text):
            self._server.typing(self._pending.uri).dismiss(self._pending.line)
            self._learn(right=False)

    def _learn(self, right: bool) -> None:
        pending, self._pending = self._pending, None
        if pending and pending.shown:
            self._server.learning.saw(pending.language, pending.probability, right)
            self._learned += 1
            if self._learned % SAVED_EVERY == 0:
                self._server.learning.save()


def _text(item: Any) -> str:
    text = getattr(item, "insertText", "")
    return text if isinstance(text, str) else ""
