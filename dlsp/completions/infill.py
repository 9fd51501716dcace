"""One suggestion: from the text around the cursor to a request, and from the answer to what is offered."""

from dataclasses import dataclass
from typing import Any

from dlsp.completions.filters import trim
from dlsp.completions.filters.repeats import cut_stutter
from dlsp.completions.filters.text import cut_fence, cut_special
from dlsp.completions.types import SkipReason
from dlsp.context.parts import Context
from dlsp.syntax.source import Source

MODES = ("autoregressive", "diffusion", "verified")
MOST_TOKENS = {"line": 64, "block": 128, "body": 256, "token": 64}


@dataclass(frozen=True)
class Suggestion:
    """Text to insert at the cursor, or why there is none, and what it cost (see the engine's interface)."""

    text: str
    quiet: SkipReason | None
    reason: str
    cost: dict[str, Any]


def end_rule(before: str) -> str:
    """Where a gap at the end of `before` ends: `block` on a line that is blank so far, else `line`."""
    line = before[max(before.rfind("\n"), before.rfind("\r")) + 1 :]
    return "line" if line.strip() else "block"


def request(
    context: Context,
    *,
    end: str,
    mode: str = "verified",
    path: str | None = None,
    middle: str | None = None,
    session: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The body of an infill request for one gap; `more` is said of the request as it is."""
    window = context.window
    gap = {"prefix": window.prefix, "suffix": window.suffix, "path": path, "middle": middle, "session": session}
    gaps = [{name: value for name, value in gap.items() if value is not None}]
    files = {"files": context.files} if context.files else {}
    return {"gaps": gaps, **files, "mode": mode, "end": end, "max_tokens": MOST_TOKENS[end], **more}


def suggestion(fill: dict[str, Any], before: str, after: str, source: Source | None = None) -> Suggestion:
    """What to offer between `before` and `after` (the document's own text) of the engine's `fill` event.

    With the document's `source`, nothing that makes it parse worse.
    """
    text, quiet = trimmed(whole(fill["text"], fill["reason"]), before, after, source)
    return Suggestion(text, quiet, fill["reason"], fill["cost"])


def whole(text: str, reason: str) -> str:
    """An answer that ended for a reason; of several lines without the last, where the length allowed cut it off."""
    lines = text.rpartition("\n")[0]
    return lines if reason == "length" and lines.strip() else text


def trimmed(answer: str, before: str, after: str, source: Source | None = None) -> tuple[str, SkipReason | None]:
    """The part of an answer to offer, or why none of it is."""
    text = trim(answer, before, after, source)
    if text:
        return text, None
    if not cut_fence(cut_special(answer), before + after).strip():
        return "", SkipReason.EMPTY
    if trim(answer, before, after):
        return "", SkipReason.BROKEN
    return "", SkipReason.REPEAT if cut_stutter(answer.rstrip(), before + after) else SkipReason.STUTTER
