"""Parts of a line that can be offered alone when the whole line is not certain enough."""

import re
from collections.abc import Iterable, Iterator

from dlsp.completions.gate.features import Facts
from dlsp.completions.gate.stumps import is_stump

# Minimum new characters of an automatic suggestion; fewer are faster typed than read.
MIN_CHARACTERS = 4

_OPENS = re.compile(r"[\s(\[{]*(?:(?<=[\s(\[{=,:])[\"'`])?\Z")

# The number of characters a token wrote, and its log-probability.
Token = tuple[int, float]


def parts(facts: Facts, line: str, tokens: Iterable[Token]) -> Iterator[tuple[str, list[float]]]:
    """Yield the proper prefixes of `line` that may be offered at the cursor, shortest first, with their tokens'
    log-probabilities.

    Each ends at the end of a token and of a word, and in code never inside of a bracket, string or dotted name that it
    began, unless the rest of the cursor's line closes it. `tokens` wrote `line` and possibly more.
    """
    at = 0
    log_p: list[float] = []
    for width, each in tokens:
        at += width
        if at >= len(line):
            return
        log_p.append(each)
        part = _OPENS.sub("", line[:at].rstrip())
        if len(part.strip()) < MIN_CHARACTERS or (_of_word(line[at - 1]) and _of_word(line[at])):
            continue
        if not is_stump(facts, part, line[len(part) :]):
            yield part, list(log_p)


def _of_word(char: str) -> bool:
    return char.isalnum() or char == "_"
