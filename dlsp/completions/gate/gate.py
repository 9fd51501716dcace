"""Whether to ask, and whether to show: the answer is a reason for quiet, or None."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dlsp.completions.gate import features
from dlsp.completions.gate.calibration import calibration
from dlsp.completions.gate.features import Facts
from dlsp.completions.gate.parts import Token, parts
from dlsp.completions.types import SkipReason
from dlsp.context.parts import Context

MODES = ("auto", "eager", "manual", "off")


@dataclass(frozen=True)
class Verdict:
    """`quiet` is None where all is well; `probability` that what was judged is right, None where it is not known."""

    quiet: SkipReason | None
    probability: float | None
    features: features.Features


def switched(mode: str, invoked: bool, snoozed: bool) -> SkipReason | None:
    """Whether suggestions are wanted at all; `invoked`: the user asked for one by a key."""
    if mode == "off":
        return SkipReason.OFF
    if invoked:
        return None
    return SkipReason.SNOOZED if snoozed else SkipReason.MANUAL if mode == "manual" else None


def grounds(context: Context) -> SkipReason | None:
    """Whether there is anything to go on, where the user asked for nothing: a file that is blank says nothing."""
    blank = not "".join(context.window).strip()
    return SkipReason.BLANK if blank and not context.others else None


def asks(facts: Facts, mode: str) -> Verdict:
    """Whether the engine should be asked at a moment that the user did not choose."""
    known = features.of_cursor(facts)
    probability = calibration().ask(known)
    quiet = None
    if mode == "auto":
        if known["deleted"]:
            quiet = SkipReason.DELETED
        elif known["midword"]:
            quiet = SkipReason.MIDWORD
    if quiet is None and probability < calibration().least["ask"][mode]:
        quiet = SkipReason.UNLIKELY
    return Verdict(quiet, probability, known)


def shows(
    facts: Facts, text: str, log_p: Sequence[float], mode: str, shift: float = 0.0, is_part: bool = False
) -> Verdict:
    """Whether `text` should be shown, a first line or a part of one; `log_p` are its tokens', none where they are not
    known.
    """
    known = features.of_completion(facts, text, log_p, is_part)
    probability = calibration().show(known, shift) if log_p else None
    if text.startswith(("\n", "\r")):
        return Verdict(SkipReason.NEWLINE, probability, known)
    least = calibration().least["show"].get(mode, 0.0)  # a suggestion asked for by a key is wanted, sure or not
    unsure = probability is not None and probability < least
    return Verdict(SkipReason.UNSURE if unsure else None, probability, known)


def sure_part(
    facts: Facts, line: str, tokens: Iterable[Token], mode: str, shift: float = 0.0
) -> tuple[str, Verdict] | None:
    """The longest part of a line that should be shown where the whole should not; `tokens` wrote the line."""
    found = None
    for part, log_p in parts(line, tokens):
        verdict = shows(facts, part, log_p, mode, shift, is_part=True)
        found = found if verdict.quiet else (part, verdict)
    return found
