"""What can be shown of a completion's text: what the filters leave of it, without a stump at its end."""

from dlsp.completions import infill
from dlsp.completions.closers import replaced
from dlsp.completions.gate.features import Facts
from dlsp.completions.gate.stumps import without_cut_end, without_stump
from dlsp.completions.types import Cursor, SkipReason
from dlsp.context.parts import plain


def trimmed(cursor: Cursor, facts: Facts, lines: str, reason: str) -> tuple[str, SkipReason | None]:
    """What is left of a completion's lines, with `\\n` line endings, or the skip reason. `reason` says why the text
    ended."""
    text, skip = _filtered(cursor, lines)
    if not text:
        return "", skip
    kept = without_stump(facts, text, lines)
    if reason == "length" and kept == text and "\n" not in lines.strip():
        kept = without_cut_end(facts, text)
    return kept, None if kept.strip() else SkipReason.SHORT


def draft(cursor: Cursor, facts: Facts, text: str) -> str:
    """The same for a text of which more was to come: its whole lines, or the beginning of its only one."""
    whole = text[: max(0, text.rfind("\n"))]
    if whole.strip():
        return trimmed(cursor, facts, whole, "")[0]
    return without_cut_end(facts, _filtered(cursor, text)[0])


def _filtered(cursor: Cursor, text: str) -> tuple[str, SkipReason | None]:
    source = cursor.workspace.source(cursor.path, cursor.language)
    closers = cursor.closers[: replaced(text, cursor.closers)]
    while True:
        stays = cursor.closers[len(closers) :]
        kept, skip = infill.insertable(text, cursor.before, stays + cursor.after, source)
        if (count := replaced(kept, closers)) == len(closers):
            break
        closers = closers[:count]  # what was cut off had the others
    if closers and kept.strip() == closers:
        return "", SkipReason.REPEAT
    return plain(kept), skip
