"""Reports each completion request to the editor: as a line for its log, and as data."""

from dlsp.completions.decisions import as_json
from dlsp.completions.observers import Silent
from dlsp.completions.types import Completed
from dlsp.server.client import Client

# The notification sent before the answer to each completion request; its parameters are in docs/server-protocol.md.
ANSWERED_METHOD = "dlsp/didAnswer"


class EditorLog(Silent):
    """Writes a log line to the editor for each request, and notifies it of the result."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def completed(self, completed: Completed) -> None:
        result = completed.result
        what = f"quiet: {result.skip.value}" if result.skip else "a suggestion"
        took = f"{completed.milliseconds:.0f} ms"
        self._client.log(", ".join(part for part in (what, result.note, took) if part))
        answered = {
            "textDocument": {"uri": completed.uri, "version": completed.version},
            "position": completed.position._asdict(),
            "id": completed.id or None,
            "skip": result.skip.code if result.skip else None,
            "message": result.skip.value if result.skip else None,
            "note": result.note,
            "decision": as_json(completed),
        }
        self._client.notify(ANSWERED_METHOD, answered)

    def cancelled(self) -> None:
        self._client.log("cancelled by the editor")
