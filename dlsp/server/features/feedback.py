"""Outcomes of suggestions, reported by editors with Copilot's notifications. Nothing of it leaves the machine.

`textDocument/didShowCompletion` {item}, `textDocument/didPartiallyAcceptCompletion` {item, acceptedLength in UTF-16
units of the item's insertText}, and `textDocument/didDismissCompletion` {item}, which is dlsp's own. Malformed ones are
ignored.
"""

from typing import Any

from dlsp.completions.accepts import Accepts
from dlsp.completions.observers import AcceptanceLearner
from dlsp.completions.service import CompletionService
from dlsp.server import params as read
from dlsp.server.protocol import Server


def register(server: Server, service: CompletionService, learner: AcceptanceLearner, accepts: Accepts) -> None:
    """Register the notifications."""

    @server.feature("textDocument/didShowCompletion")
    def shown(params: Any) -> None:
        feedback = read.read(read.Feedback, params)
        learner.shown(feedback.item.insert_text, feedback.item.id)

    @server.feature("textDocument/didPartiallyAcceptCompletion")
    def accepted(params: Any) -> None:
        feedback = read.read(read.Feedback, params)
        told = (feedback.item.insert_text, feedback.accepted_length or 0, feedback.item.id)
        learner.accepted(*told)
        accepts.accepted(*told)

    @server.feature("textDocument/didDismissCompletion")
    def dismissed(params: Any) -> None:
        feedback = read.read(read.Feedback, params)
        if place := learner.dismissed(feedback.item.insert_text, feedback.item.id):
            service.dismissed(*place)
