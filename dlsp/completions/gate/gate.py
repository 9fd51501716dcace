"""The gate: whether to ask the engine and whether to show its completion; decisions are a skip reason or None."""

from collections.abc import Iterable, Sequence

from dlsp.completions.gate import features
from dlsp.completions.gate.calibration import calibration
from dlsp.completions.gate.features import Facts
from dlsp.completions.gate.parts import Token, parts
from dlsp.completions.types import SkipReason, Verdict
from dlsp.context.parts import Context

# Keys that agreed with a suggestion and did not accept it, about two seconds of typing, after which it is in the way.
MAX_KEYS_OVER = 8


def switched_off(eagerness: str, invoked: bool, snoozed: bool) -> SkipReason | None:
    """The skip reason if no suggestion is wanted, else None; `invoked`: the user requested one explicitly."""
    if eagerness == "off":
        return SkipReason.OFF
    if invoked:
        return None
    return SkipReason.SNOOZED if snoozed else SkipReason.MANUAL if eagerness == "manual" else None


def nothing_to_go_on(context: Context) -> SkipReason | None:
    """BLANK for an empty file if no other file gives any context, else None."""
    blank = not "".join(context.window).strip()
    return SkipReason.BLANK if blank and not context.others else None


def ask(facts: Facts, eagerness: str) -> Verdict:
    """Whether to ask the engine for an automatic (not explicitly invoked) request."""
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


def typed_over(facts: Facts, eagerness: str) -> SkipReason | None:
    """TYPED if the user has typed on over the suggestion for so long that it is not wanted, else None."""
    return SkipReason.TYPED if eagerness == "auto" and facts.keys_over > MAX_KEYS_OVER else None


def show(
    facts: Facts, text: str, log_p: Sequence[float], eagerness: str, shift: float = 0.0, is_part: bool = False
) -> Verdict:
    """Whether to show `text`, which is a first line or a part of one.

    `log_p` are the log-probabilities of its tokens, empty if unknown. `shift` is added to the logit.
    """
    known = features.of_completion(facts, text, log_p, is_part)
    probability = calibration().show(known, shift) if log_p else None
    if text.startswith(("\n", "\r")):
        return Verdict(SkipReason.NEWLINE, probability, known)
    least = calibration().least["show"].get(eagerness, 0.0)  # an explicitly invoked suggestion is always shown
    unsure = probability is not None and probability < least
    return Verdict(SkipReason.UNSURE if unsure else None, probability, known)


def sure_part(
    facts: Facts, line: str, tokens: Iterable[Token], eagerness: str, shift: float = 0.0
) -> tuple[str, Verdict] | None:
    """The longest part of a line that may be shown if the whole line may not, or None; `tokens` wrote the line."""
    found = None
    for part, log_p in parts(facts, line, tokens):
        verdict = show(facts, part, log_p, eagerness, shift, is_part=True)
        found = found if verdict.skip else (part, verdict)
    return found
