"""What users say of suggestions: their outcomes, which editors report with Copilot's notifications, and that none are
wanted for a while. Nothing of it leaves the machine.

`textDocument/didShowCompletion` {item}, `textDocument/didPartiallyAcceptCompletion` {item, acceptedLength in UTF-16
units of the item's text}, and `textDocument/didDismissCompletion` {item}, which is dlsp's own. Malformed ones are
ignored. Copilot's clients also run an item's command when it is accepted.
"""

from typing import Any

from dlsp.completions.accepts import Accepts
from dlsp.completions.observers import AcceptanceLearner, Offered
from dlsp.completions.service import CompletionService
from dlsp.server import params as read
from dlsp.server.features.inline_completion import ACCEPTED
from dlsp.server.protocol import Server

SNOOZE, SNOOZE_MINUTES = "dlsp.snooze", 10


class Outcomes:
    """Tells the learner, the counts and the service what became of suggestions, which are known by id. Reports about
    others are ignored, and an acceptance of the whole counts once."""

    def __init__(
        self, service: CompletionService, learner: AcceptanceLearner, accepts: Accepts, offered: Offered
    ) -> None:
        self._service, self._learner, self._accepts, self._offered = service, learner, accepts, offered

    def shown(self, id: str) -> None:
        if text := self._offered.text(id):
            self._learner.shown(text, id)

    def accepted(self, id: str, length: int | None = None) -> None:
        """`length` UTF-16 units of it are accepted, all of it without."""
        if text := self._offered.text(id):
            units = len(text.encode("utf-16-le", "replace")) // 2
            length = units if length is None else length
            if length >= units:
                self._offered.forget(id)
            self._learner.accepted(text, length, id)
            self._accepts.accepted(text, length, id)

    def dismissed(self, id: str) -> None:
        text = self._offered.text(id)
        if text and (place := self._learner.dismissed(text, id)):
            self._service.dismissed(*place)


def register(
    server: Server, service: CompletionService, learner: AcceptanceLearner, accepts: Accepts, outcomes: Outcomes
) -> None:
    """Register the notifications, and the commands."""

    @server.feature("textDocument/didShowCompletion")
    def shown(params: Any) -> None:
        item = read.read(read.Feedback, params).item
        if item.insert_text:
            learner.shown(item.insert_text, item.id)
        elif item.told_id:
            outcomes.shown(item.told_id)

    @server.feature("textDocument/didPartiallyAcceptCompletion")
    def accepted(params: Any) -> None:
        feedback = read.read(read.Feedback, params)
        item = feedback.item
        if item.insert_text:
            told = (item.insert_text, feedback.accepted_length or 0, item.id)
            learner.accepted(*told)
            accepts.accepted(*told)
        elif item.told_id:
            outcomes.accepted(item.told_id, feedback.accepted_length or 0)

    @server.feature("textDocument/didDismissCompletion")
    def dismissed(params: Any) -> None:
        item = read.read(read.Feedback, params).item
        if item.insert_text and (place := learner.dismissed(item.insert_text, item.id)):
            service.dismissed(*place)

    @server.command(ACCEPTED)
    def executed(id: str) -> None:
        outcomes.accepted(id)

    @server.command(SNOOZE)
    def snooze(minutes: float = SNOOZE_MINUTES) -> None:
        service.snooze(minutes)
