"""What was decided at each question: one line of JSON each in the state folder, without any text of documents.

`dlsp doctor --last` shows them, and the gate is fitted on them.
"""

import json
import logging
import time
from typing import TYPE_CHECKING, Any

from dlsp.errors import UserError
from dlsp.logfile import SharedFile
from dlsp.paths import state_dir

if TYPE_CHECKING:
    from dlsp.server.offer import Offer
    from dlsp.server.question import Question
    from dlsp.server.server import Server

NAME = "decisions.jsonl"
MOST_BYTES = 1_000_000


class Decisions:
    def __init__(self) -> None:
        self._handler: SharedFile | None = None

    def note(self, server: "Server", question: "Question", made: "Offer", milliseconds: float) -> None:
        """Write down what became of a question."""
        document = server.document(question.uri)
        verdict = made.verdict
        line: dict[str, Any] = {
            "time": round(time.time(), 3),
            "language": document.language_id if document else None,
            "version": document.version if document else None,
            "line": question.position.line,
            "character": question.position.character,
            "automatic": not question.invoked,
            "quiet": made.quiet.name.lower() if made.quiet else None,
            "length": len(made.text),
            "memory": made.memory,
            "ms": round(milliseconds, 1),
            "probability": round(verdict.probability, 3) if verdict and verdict.probability is not None else None,
            "features": {name: round(float(value), 3) for name, value in verdict.features.items() if value}
            if verdict
            else None,
        }
        self._write(json.dumps(line))

    def _write(self, line: str) -> None:
        if self._handler is None:
            try:
                self._handler = SharedFile(state_dir() / NAME, maxBytes=MOST_BYTES, backupCount=1, encoding="utf-8")
            except (OSError, UserError):
                return
        self._handler.emit(logging.makeLogRecord({"msg": line}))


def last(most: int) -> list[dict[str, Any]]:
    """The last decisions, the oldest first; those that cannot be read are left out."""
    found: list[dict[str, Any]] = []
    try:
        file = state_dir() / NAME
        for each in (file.with_name(f"{NAME}.1"), file):
            if each.exists():
                for line in each.read_text(encoding="utf-8", errors="replace").splitlines()[-most:]:
                    try:
                        found.append(dict(json.loads(line)))
                    except (ValueError, TypeError):
                        continue
    except (OSError, UserError):
        return found
    return found[-most:]
