"""Whether to ask the engine, and whether to show what it wrote: the result is a reason to skip, or None."""

from collections.abc import Iterable, Sequence

from dlsp.completions.gate import features
from dlsp.completions.gate.calibration import calibration
from dlsp.completions.gate.features import Facts
from dlsp.completions.gate.parts import Token, parts
from dlsp.completions.types import SkipReason, Verdict
from dlsp.context.parts import Context


def switched_off(eagerness: str, invoked: bool, snoozed: bool) -> SkipReason | None:
    """Why no suggestion is wanted at all; `invoked`: the user asked for one by a key."""
    if eagerness == "off":
        return SkipReason.OFF
    if invoked:
        return None
    return SkipReason.SNOOZED if snoozed else SkipReason.MANUAL if eagerness == "manual" else None


def nothing_to_go_on(context: Context) -> SkipReason | None:
    """BLANK for an empty file of which no other file says what belongs in it."""
    blank = not "".join(context.window).strip()
    return SkipReason.BLANK if blank and not context.others else None


def ask(facts: Facts, eagerness: str) -> Verdict:
    """Whether to ask the engine where the user did not ask for a suggestion by a key."""
    known = features.of_cursor(facts)
    probability = calibration().ask(known)
    skip = None
    if eagerness == "auto":
        if known["deleted"]:
            skip = SkipReason.DELETED
        elif known["midword"]:
            skip = SkipReason.MIDWORD
    if skip is None and probability < calibration().least["ask"][eagerness]:
        skip = SkipReason.UNLIKELY
    return Verdict(skip, probability, known)


def show(
    facts: Facts, text: str, log_p: Sequence[float], eagerness: str, shift: float = 0.0, is_part: bool = False
) -> Verdict:
    """Whether to show `text`, a first line or a part of one.

    `log_p` are the log-probabilities of its tokens, empty where they are not known. `shift` is added to the logit.
    """
    known = features.of_completion(facts, text, log_p, is_part)
    probability = calibration().show(known, shift) if log_p else None
    if text.startswith(("\n", "\r")):
        return Verdict(SkipReason.NEWLINE, probability, known)
    least = calibration().least["show"].get(eagerness, 0.0)  # one asked for by a key is wanted, sure or not
    unsure = probability is not None and probability < least
    return Verdict(SkipReason.UNSURE if unsure else None, probability, known)


def sure_part(
    facts: Facts, line: str, tokens: Iterable[Token], eagerness: str, shift: float = 0.0
) -> tuple[str, Verdict] | None:
    """The longest part of a line that may be shown where the whole may not; `tokens` wrote the line."""
    found = None
    for part, log_p in parts(line, tokens):
        verdict = show(facts, part, log_p, eagerness, shift, is_part=True)
        found = found if verdict.skip else (part, verdict)
    return found
