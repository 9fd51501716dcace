"""The decision log: one line of JSON per completion request, in the state folder, without document text."""

import json
import logging
import time
from typing import Any

from dlsp import logfile
from dlsp.completions.observers import Silent
from dlsp.completions.types import Completed
from dlsp.errors import UserError
from dlsp.paths import state_dir

NAME = "decisions.jsonl"
MAX_BYTES = 1_000_000


def as_json(completed: Completed) -> dict[str, Any]:
    """An answered request as JSON data without document text, for the decision log and for editors."""
    result, verdict = completed.result, completed.result.verdict
    known = verdict.probability if verdict else None
    return {
        "language": completed.language_id,
        "version": completed.version,
        "line": completed.position.line,
        "character": completed.position.character,
        "automatic": not completed.invoked,
        "quiet": result.skip.code if result.skip else None,
        "length": len(result.text),
        "memory": result.from_cache,
        "ms": round(completed.milliseconds, 1),
        "probability": round(known, 3) if known is not None else None,
        "features": {name: round(float(value), 3) for name, value in verdict.features.items() if value}
        if verdict
        else None,
    }


class DecisionLog(Silent):
    """Appends a line of JSON per request to a file in the state folder, on a background thread.

    `dlsp doctor --last` shows these lines, and the gate is fitted on them.
    """

    def __init__(self) -> None:
        self._file = logfile.background_file(NAME, MAX_BYTES, kept=1)

    def completed(self, completed: Completed) -> None:
        line = {"time": round(time.time(), 3), **as_json(completed)}
        if self._file:
            self._file.handle(logging.makeLogRecord({"msg": json.dumps(line)}))

    def close(self) -> None:
        """Write what is still pending and close the file."""
        if self._file:
            self._file.close()


def last(most: int) -> list[dict[str, Any]]:
    """The newest decisions, at most `most`, oldest first; unreadable lines are left out."""
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
