"""What was decided the last times that an editor asked, and how often each reason for quiet was given."""

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from dlsp.completions import decisions
from dlsp.completions.types import SkipReason
from dlsp.wording import count

COUNTED = 2000


def lines(most: int) -> Iterator[str]:
    """The last `most` decisions, the newest last, then the counts of all that are kept."""
    kept = decisions.last(COUNTED)
    if not kept:
        yield "No editor has asked yet."
        return
    for each in kept[-most:] if most else []:
        yield _line(each)
    shown = [each for each in kept if not each.get("quiet")]
    remembered = sum(bool(each.get("memory")) for each in shown)
    questions = count(len(kept), "question")
    yield f"Of the last {questions}, {len(shown)} had a suggestion, {remembered} of them from memory."
    for name, times in Counter(each["quiet"] for each in kept if each.get("quiet")).most_common():
        yield f"{times:6} quiet, {name}: {_said(name)}"


def as_json(most: int) -> dict[str, Any]:
    """The same for programs: the `decisions` as they were written down, and `reasons` by how often each was given."""
    kept = decisions.last(COUNTED)
    return {
        "decisions": kept[-most:] if most else [],
        "questions": len(kept),
        "reasons": dict(Counter(each["quiet"] for each in kept if each.get("quiet")).most_common()),
    }


def _line(each: dict[str, Any]) -> str:
    when = time.strftime("%H:%M:%S", time.localtime(float(each.get("time") or 0)))
    where = f"line {int(each.get('line') or 0) + 1}"
    probability = each.get("probability")
    sure = f", right with {probability:.0%}" if isinstance(probability, float) else ""
    if name := each.get("quiet"):
        what = f"quiet, {name}: {_said(name)}{sure}"
    else:
        source = "from memory" if each.get("memory") else "from the engine"
        what = f"a suggestion of {count(each.get('length') or 0, 'character')} {source}{sure}"
    return f"{when} {each.get('language') or 'unknown'}, {where}: {what}, {each.get('ms')} ms"


def _said(name: str) -> str:
    return SkipReason[name.upper()].value if name.upper() in SkipReason.__members__ else "a reason of another version"
