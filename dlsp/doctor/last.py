"""The latest completion decisions, and how often each skip reason occurred."""

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from dlsp.completions import decisions
from dlsp.completions.types import SkipReason
from dlsp.wording import count

# Decisions over which skip reasons are counted.
COUNTED_DECISIONS = 2000


def lines(most: int) -> Iterator[str]:
    """Yield the last `most` decisions, newest last, then the counts over all that are kept."""
    kept = decisions.last(COUNTED_DECISIONS)
    if not kept:
        yield "No editor has asked yet."
        return
    yield from map(line, kept[-most:] if most else [])
    shown = [each for each in kept if not each.get("quiet")]
    cached = sum(bool(each.get("memory")) for each in shown)
    questions = count(len(kept), "question")
    yield f"Of the last {questions}, {len(shown)} had a suggestion, {cached} of them from cache."
    for reason, times in reasons(kept).items():
        yield f"{times:6} quiet: {said(reason)}"


def reasons(kept: list[dict[str, Any]]) -> dict[str, int]:
    """How many of these decisions have each skip reason, most frequent first."""
    return dict(Counter(str(each["quiet"]) for each in kept if each.get("quiet")).most_common())


def as_json(most: int) -> dict[str, Any]:
    """The same as JSON data: the recorded `decisions`, and `reasons` with their counts."""
    kept = decisions.last(COUNTED_DECISIONS)
    return {
        "decisions": kept[-most:] if most else [],
        "questions": len(kept),
        "reasons": reasons(kept),
    }


def line(decision: dict[str, Any]) -> str:
    """One decision as a line of text."""
    when = time.strftime("%H:%M:%S", time.localtime(float(decision.get("time") or 0)))
    where = f"line {int(decision.get('line') or 0) + 1}"
    probability = decision.get("probability")
    sure = f", {probability:.0%} sure" if isinstance(probability, float) else ""
    if reason := decision.get("quiet"):
        what = f"quiet: {said(str(reason))}"
    else:
        source = "from cache" if decision.get("memory") else "from the engine"
        what = f"a suggestion of {count(decision.get('length') or 0, 'character')} {source}"
    return f"{when} {decision.get('language') or 'unknown'}, {where}: {what}{sure}, {decision.get('ms')} ms"


def said(reason: str) -> str:
    """The sentence for a skip reason's code."""
    return (
        SkipReason[reason.upper()].value if reason.upper() in SkipReason.__members__ else "a reason of another version"
    )
