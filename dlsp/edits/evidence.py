"""What speaks for a learned substitution at a place, as numbers that a fitted weight is given to."""

from collections import Counter
from collections.abc import Sequence

from dlsp.edits.matches import Match

GROUPS = ("pure", "mixed", "phrase")
"""Of rules: the edit only renamed; it renamed and did more; a phrase. Each has its own weights."""
ROLES = ("plain", "called", "member", "keyword", "import", "type", "string", "comment")
PROSE = ("string", "comment")
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
    "outside of scope",
    "inside of scope",
    "another owner",
    "same owner",
    "stands in the edit",
    "short name",
    "tokens",
    "common",
    "new name is taken",
)


def evidence(match: Match, inside: bool | None, counts: Counter[str]) -> list[float]:
    """One number for each of NAMES. `inside` is whether the place is where the name reaches, None if it reaches all;
    `counts` are the words outside the edit."""
    rule = match.rule
    phrase = rule.kind == "phrase"
    member = rule.role == "member" and match.role == "member"
    telling = _tells(rule.old[0]) and not phrase
    old = next((each for each in rule.old if each.isidentifier()), rule.old[0])
    values = {
        "always": 1.0,
        rule.kind: 1.0,
        "telling name": telling,
        "telling name in prose": telling and match.role in PROSE,
        "same role": rule.role == match.role,
        f"in {match.role}": 1.0,
        "code to prose": rule.role not in PROSE and match.role in PROSE,
        "prose to code": rule.role in PROSE and match.role not in PROSE,
        "outside of scope": inside is False,
        "inside of scope": inside is True,
        "another owner": member and match.left < 2,
        "same owner": member and match.left >= 2,
        "stands in the edit": rule.kept > 0,
        "short name": len(old) <= 3,
        "tokens": min(len(rule.old), 12) / 4 if phrase else 0,
        "common": min(counts[old], 12) / 4,
        "new name is taken": rule.new.isidentifier() and counts[rule.new] > 0,
    }
    for n in (1, 2, 3):
        values[f"{'phrase' if phrase else 'rename'} left {n}"] = match.left >= n
        values[f"{'phrase' if phrase else 'rename'} right {n}"] = match.right >= n
    return [float(values.get(name, 0.0)) for name in NAMES]


def _tells(name: str) -> bool:
    """Whether a name is no mere word."""
    return "_" in name.strip("_") or name.startswith("_") or any(each.isupper() for each in name[1:]) or len(name) > 9


def group(match: Match) -> str:
    if match.rule.kind == "phrase":
        return "phrase"
    return "pure" if match.rule.pure and match.rule.kind == "rename" else "mixed"


def score(weights: Sequence[float], numbers: Sequence[float]) -> float:
    """The logarithm of the odds."""
    return sum(weight * number for weight, number in zip(weights, numbers, strict=True))
