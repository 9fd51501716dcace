"""Parts of a line that can be offered alone when the whole line is not certain enough."""

import re
from collections.abc import Iterable, Iterator

# Minimum characters of a part; fewer are faster typed than read.
MIN_CHARACTERS = 4

_OPENS = re.compile(r"[\s(\[{]*(?:(?<=[\s(\[{=,:])[\"'`])?\Z")

# The number of characters a token wrote, and its log-probability.
Token = tuple[int, float]


def parts(line: str, tokens: Iterable[Token]) -> Iterator[tuple[str, list[float]]]:
    """Yield the proper prefixes of `line` that may be offered, shortest first, with their tokens' log-probabilities.

    Each ends at the end of a token and of a word, and never in an opening bracket or quote: editors auto-close one that
    is typed, but not one that is accepted. `tokens` wrote `line` and possibly more.
    """
    at = 0
    log_p: list[float] = []
    for width, each in tokens:
        at += width
        if at >= len(line):
            return
        log_p.append(each)
        part = _OPENS.sub("", line[:at].rstrip())
        if len(part.strip()) >= MIN_CHARACTERS and not (_of_word(line[at - 1]) and _of_word(line[at])):
            yield part, list(log_p)


def _of_word(char: str) -> bool:
    return char.isalnum() or char == "_"
