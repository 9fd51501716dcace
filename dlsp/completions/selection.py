"""Choose what to show of a cached completion at a cursor, subject to the gate. Pure functions."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from dlsp.completions.cache import UNFINISHED, CachedCompletion, Remainder, before_closers
from dlsp.completions.closers import replaced
from dlsp.completions.filters.text import line_ending, with_endings
from dlsp.completions.gate import gate
from dlsp.completions.gate.features import Edit, Facts
from dlsp.completions.gate.parts import MIN_CHARACTERS
from dlsp.completions.types import CompletionResult, Cursor, SkipReason, Verdict

_FIRST_LINE = re.compile(r"\s*\S[^\n]*")


@dataclass(frozen=True)
class Candidate:
    """A completion's text for the cursor, with `\\n` line endings, or the skip reason if the filters left nothing.

    `complete`: the engine had finished when the text was taken. `generated`: the engine was asked for this very cursor.
    `is_part`: the text ends inside a line that the engine had begun.
    """

    completion: CachedCompletion
    remainder: Remainder
    text: str
    skip: SkipReason | None
    complete: bool
    invoked: bool
    generated: bool
    is_part: bool = False


def first_line(text: str) -> str:
    """The text up to the end of its first non-blank line; "" if there is none."""
    found = _FIRST_LINE.match(text)
    return found[0] if found else ""


def still_shown(cursor: Cursor, completion: CachedCompletion, remainder: Remainder) -> str:
    """The rest of the text that was last shown, with `\\n` line endings; "" if nothing is left that is not behind the
    cursor."""
    text = before_closers(completion.still_shown(remainder), cursor.line_before, remainder.closers)
    return "" if cursor.closers.startswith(text.strip()) else text


def whole_lines(completion: CachedCompletion, remainder: Remainder) -> str:
    """The text that has arrived, without a last line that is still being written."""
    return remainder.text if completion.reason else remainder.text[: max(0, remainder.text.rfind("\n"))]


def select(
    cursor: Cursor, candidate: Candidate, facts: Facts, is_dismissed: Callable[[str], bool], shift: float
) -> tuple[CompletionResult, str] | None:
    """The result for the cursor and its text with `\\n` line endings; None if the engine must be asked or awaited.

    `shift` is the learned logit shift for the gate.
    """
    completion, remainder, text = candidate.completion, candidate.remainder, candidate.text
    invoked, cached = candidate.invoked, not candidate.generated
    if not text and not candidate.complete:
        return None
    if cached and not invoked and facts.edit is Edit.DELETED and not completion.shown:
        return None  # after a deletion only text that was shown before comes back; a new suggestion would disturb
    if not text:
        known = completion.reason not in UNFINISHED and not (invoked and cached)
        skip = candidate.skip or SkipReason.EMPTY
        empty = CompletionResult(skip=skip, from_cache=cached, reason=completion.reason, cost=completion.cost)
        return (empty, "") if known or not cached else None
    verdict = _verdict(cursor, candidate, facts, shift)
    if not invoked:
        on_screen = completion.still_shown(remainder)
        if on_screen and (skip := gate.typed_over(facts, cursor.eagerness)):
            return CompletionResult(skip=skip, verdict=verdict, from_cache=cached), ""
        # A suggestion already on the screen stays as long as typing agrees with it.
        stays = verdict.skip is SkipReason.UNSURE and on_screen
        if verdict.skip is SkipReason.UNSURE and not stays:
            tokens = completion.tokens(remainder.typed)
            part = gate.sure_part(facts, first_line(text), tokens, cursor.eagerness, shift)
            text, verdict = part or (text, verdict)
        if is_dismissed(text):
            return CompletionResult(skip=SkipReason.DISMISSED, verdict=verdict, from_cache=cached), ""
        if len(text if facts.line_before.strip() else text.strip()) < MIN_CHARACTERS and not on_screen:
            verdict = replace(verdict, skip=SkipReason.SHORT)
        if verdict.skip and not stays:
            return CompletionResult(skip=verdict.skip, verdict=verdict, from_cache=cached), ""
    inserted = with_endings(text, line_ending(cursor.before + cursor.after))
    note = _note(completion, inserted, verdict, cached)
    count = replaced(text, cursor.closers)
    return CompletionResult(inserted, None, note, verdict, cached, completion.reason, completion.cost, count), text


def _verdict(cursor: Cursor, candidate: Candidate, facts: Facts, shift: float) -> Verdict:
    shown, typed = first_line(candidate.text), candidate.remainder.typed
    log_p = candidate.completion.log_p(typed, typed + len(shown))
    return gate.show(facts, shown, log_p, cursor.eagerness, shift, candidate.is_part)


def _note(completion: CachedCompletion, text: str, verdict: Verdict, cached: bool) -> str:
    """A note for the log, without the text itself."""
    said = [f"{len(text)} characters"]
    if verdict.probability is not None:
        said.append(f"right with {verdict.probability:.0%}")
    if cached:
        said.append("from memory")
    elif completion.cost:
        said.append(f"{completion.cost['tokens']} tokens, tau {completion.cost['tau']:.2f}")
    return ", ".join(said)
