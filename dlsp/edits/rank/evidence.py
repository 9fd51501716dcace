"""The evidence for a substitution at a place, as numbers with fitted weights."""

from collections import Counter
from collections.abc import Sequence

from dlsp.edits.search.matches import Match
from dlsp.edits.search.rules import alike
from dlsp.edits.search.standing import BOUND_STANDINGS, STANDINGS
from dlsp.edits.search.tokens import PROSE

# Groups of matches, each with its own weights. bound: the name is bound to what the edit renamed; prose: a pure rename
# in a comment or string; pure: a pure rename in other code; mixed: the edit renamed and did more; phrase: several
# tokens.
GROUPS = ("bound", "prose", "pure", "mixed", "phrase")
ROLES = ("plain", "called", "member", "keyword", "import", "path", "type", "string", "comment")
NAMES = (
    "always",
    *("rename", "case", "phrase"),
    *("telling name", "telling name in prose"),
    *(f"phrase left {n}" for n in (1, 2, 3)),
    *(f"phrase right {n}" for n in (1, 2, 3)),
    *(f"rename left {n}" for n in (1, 3)),
    *(f"rename right {n}" for n in (1, 3)),
    "same role",
    *(f"in {role}" for role in ROLES),
    "code to prose",
    "prose to code",
    *STANDINGS,
    "another owner",
    "same owner",
    "whole string",
    "part of another string",
    "did nothing else",
    "stands in the edit",
    "stands in the edit as something else",
    "short name",
    "tokens",
    "common",
    "new name is taken",
    "new name is taken, did more",
    "alike",
    "another import",
)


def evidence(match: Match, standing: str, is_taken: bool, counts: Counter[str]) -> list[float]:
    """One number for each of NAMES.

    `standing` is one of STANDINGS or ""; `counts` are the word counts outside the edit.
    """
    rule = match.rule
    phrase = rule.kind == "phrase"
    member = rule.role == "member" and match.role == "member"
    telling = _tells(rule.old[0]) and not phrase
    old = next((each for each in rule.old if each.isidentifier()), rule.old[0])
    taken = is_taken if standing in BOUND_STANDINGS else rule.new.isidentifier() and counts[rule.new] > 0
    is_alike = not phrase and alike(rule.old[0], rule.new)
    values = {
        "always": 1.0,
        rule.kind: 1.0,
        "telling name": telling,
        "telling name in prose": telling and match.role in PROSE,
        "same role": rule.role == match.role,
        f"in {match.role}": 1.0,
        "code to prose": rule.role not in PROSE and match.role in PROSE,
        "prose to code": rule.role in PROSE and match.role not in PROSE,
        standing: 1.0,
        "another owner": member and match.left < 2,
        "same owner": member and match.left >= 2,
        "whole string": match.whole,
        "part of another string": rule.whole and match.role in PROSE and not match.whole,
        "did nothing else": rule.pure,
        "stands in the edit": rule.kept > 0,
        "stands in the edit as something else": rule.beside > 0,
        "short name": len(old) <= 3,
        "tokens": min(len(rule.old), 12) / 4 if phrase else 0,
        "common": min(counts[old], 12) / 4,
        "new name is taken": taken,
        "new name is taken, did more": taken and not rule.pure,
        "alike": is_alike,
        "another import": rule.role == "import" and not phrase and not is_alike,
    }
    kind = "phrase" if phrase else "rename"
    for n in (1, 2, 3):
        values[f"{kind} left {n}"] = match.left >= n
        values[f"{kind} right {n}"] = match.right >= n
    return [float(values.get(name, 0.0)) for name in NAMES]


def _tells(name: str) -> bool:
    """Whether a name is distinctive: with underscores or capitals inside, or long, unlike a common word."""
    return "_" in name.strip("_") or name.startswith("_") or any(each.isupper() for each in name[1:]) or len(name) > 9


def group(match: Match, numbers: Sequence[float]) -> str:
    """The match's group, one of GROUPS; `numbers` is its evidence."""
    if match.rule.kind == "phrase":
        return "phrase"
    if any(numbers[NAMES.index(standing)] for standing in BOUND_STANDINGS):
        return "bound"
    if not match.rule.pure or match.rule.kind != "rename":
        return "mixed"
    return "prose" if match.role in PROSE else "pure"


def score(weights: Sequence[float], numbers: Sequence[float]) -> float:
    """The log odds."""
    return sum(weight * number for weight, number in zip(weights, numbers, strict=True))
