"""The engine's infill request for one gap, and the part of the answer that can be inserted."""

from typing import Any

from dlsp.completions.filters import trim
from dlsp.completions.filters.repeats import cut_stutter
from dlsp.completions.filters.text import cut_fence, cut_special
from dlsp.completions.types import CompletionResult, SkipReason
from dlsp.context.parts import Context
from dlsp.syntax.source import Source

# Maximum tokens of a completion, by end rule.
MAX_TOKENS = {"line": 64, "block": 128, "body": 256, "token": 64}


def end_rule(before: str) -> str:
    """The end rule for a completion after `before`: `block` on a line that is still blank, else `line`."""
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
    """Build the infill request for one gap; `more` is added to it unchanged."""
    window = context.window
    gap = {"prefix": window.prefix, "suffix": window.suffix, "path": path, "middle": middle, "session": session}
    gaps = [{name: value for name, value in gap.items() if value is not None}]
    files = {"files": context.files} if context.files else {}
    return {"gaps": gaps, **files, "mode": mode, "end": end, "max_tokens": MAX_TOKENS[end], **more}


def result(fill: dict[str, Any], before: str, after: str, source: Source | None = None) -> CompletionResult:
    """The result from the engine's `fill` event for the gap between `before` and `after` in the document.

    If `source` is given, text is cut where it would add syntax errors to the document.
    """
    text, skip = insertable(without_cut_line(fill["text"], fill["reason"]), before, after, source)
    return CompletionResult(text, skip, reason=fill["reason"], cost=fill["cost"])


def without_cut_line(text: str, reason: str) -> str:
    """`text` without its last line, if there are several lines and the length limit cut the last."""
    lines = text.rpartition("\n")[0]
    return lines if reason == "length" and lines.strip() else text


def insertable(text: str, before: str, after: str, source: Source | None = None) -> tuple[str, SkipReason | None]:
    """The part of the model's text that can be inserted between `before` and `after`, or the skip reason if nothing
    can."""
    kept = trim(text, before, after, source)
    if kept:
        return kept, None
    if not cut_fence(cut_special(text), before + after).strip():
        return "", SkipReason.EMPTY
    if trim(text, before, after):
        return "", SkipReason.BROKEN
    return "", SkipReason.REPEAT if cut_stutter(text.rstrip(), before + after) else SkipReason.STUTTER
