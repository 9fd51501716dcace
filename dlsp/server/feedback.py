"""What became of suggestions, as editors tell it under Copilot's names. Counted here; nothing leaves the machine.

`textDocument/didShowCompletion` {item}, `textDocument/didPartiallyAcceptCompletion` {item, acceptedLength in UTF-16
units of the item's insertText}, and our own `textDocument/didDismissCompletion` {item}.
"""

from collections import Counter
from typing import Any

from pygls.lsp.server import LanguageServer


class Feedback:
    """`counts`: suggestions `shown`, `accepted`, `partly` accepted and `dismissed` since the server started."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def shown(self) -> None:
        self.counts["shown"] += 1

    def partly(self, item: Any, length: int) -> None:
        """Accepted up to `length`: all of it, or a part."""
        text = getattr(item, "insertText", "")
        whole = isinstance(text, str) and length >= len(text.encode("utf-16-le", "replace")) // 2
        self.counts["accepted" if whole else "partly"] += 1

    def dismissed(self) -> None:
        self.counts["dismissed"] += 1


def add(server: LanguageServer) -> Feedback:
    """Have the server count what its editor tells."""
    feedback = Feedback()

    @server.feature("textDocument/didShowCompletion")
    def shown(params: Any) -> None:
        feedback.shown()

    @server.feature("textDocument/didPartiallyAcceptCompletion")
    def partly(params: Any) -> None:
        feedback.partly(getattr(params, "item", None), int(getattr(params, "acceptedLength", 0)))

    @server.feature("textDocument/didDismissCompletion")
    def dismissed(params: Any) -> None:
        feedback.dismissed()

    return feedback
