"""The numbers by which a moment, and what the engine said to it, are judged. 0 or 1 where nothing else is said."""

from collections.abc import Sequence
from math import exp, log1p

from dlsp.gate.edit import Edit
from dlsp.gate.facts import Facts

Features = dict[str, float]

LATELY = 40
"""Keys after which a dismissal is forgotten."""
LEAST_LOG_P = -8.0
"""Below this all is as unlikely."""
_CLOSES = " \t)]}>\"'`,;:"


def of_moment(facts: Facts) -> Features:
    """What is known before the engine is asked."""
    before, after = facts.line_before, facts.line_after
    edit = Edit.NONE if facts.moved else facts.edit
    stripped, last = before.strip(), before[-1:]
    is_word = last.isalnum() or last == "_"
    return {
        "newline": edit is Edit.NEWLINE,
        "deleted": edit is Edit.DELETED,
        "pasted": edit is Edit.PASTED,
        "accepted": edit is Edit.ACCEPTED,
        "moved": edit is Edit.NONE,
        "blank": not stripped,
        "word": is_word,
        "number": last.isdigit(),
        "dot": last == ".",
        "opened": last in ("(", "[", "{", ","),
        "closed": last in (")", "]", "}", ":", ";"),
        "space": last.isspace() and bool(stripped),
        "written": log1p(len(stripped)),
        "closers": bool(after.strip()) and not after.strip(_CLOSES),
        "midline": bool(after.strip(_CLOSES)),
        "midword": is_word and (after[:1].isalnum() or after[:1] == "_"),
        "comment": facts.inside == "comment",
        "string": facts.inside == "string",
        "prose": facts.inside == "prose",
        "dismissed": 0.0 if facts.dismissed is None else max(0.0, 1 - facts.dismissed / LATELY),
    }


def of_answer(facts: Facts, first_line: str, log_p: Sequence[float], is_part: bool = False) -> Features:
    """What the engine's answer adds: its first line or a part of that, and the log-probabilities of the tokens that
    wrote it.
    """
    return of_moment(facts) | {"agreed": log1p(facts.agreed)} | of_line(first_line, log_p, is_part)


def of_line(text: str, log_p: Sequence[float], is_part: bool = False) -> Features:
    """The same of the line or part alone."""
    stripped = text.strip()
    return {
        "log_p": max(LEAST_LOG_P, sum(log_p)),
        "p": exp(sum(log_p)),
        "sure": log1p(sum(each > -0.1 for each in log_p)),
        "length": log1p(len(stripped)),
        "short": len(stripped) <= 2,
        "letters": any(char.isalnum() for char in stripped),
        "part": is_part,
    }
