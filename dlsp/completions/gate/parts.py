"""The beginnings of a line that can be offered by themselves, where the whole of it is not sure enough."""

import re
from collections.abc import Iterable, Iterator

# Characters of a part; fewer are sooner typed than read.
MIN_CHARACTERS = 4

_OPENS = re.compile(r"[\s(\[{]*(?:(?<=[\s(\[{=,:])[\"'`])?\Z")

# Characters that a token wrote, and its log-probability.
Token = tuple[int, float]


def parts(line: str, tokens: Iterable[Token]) -> Iterator[tuple[str, list[float]]]:
    """The shortest first, each up to the end of a token and of a word, with the log-probabilities of its tokens. None
    ends with an opening bracket or quote: one that is typed is closed by the editor, one that is accepted is not.

    `tokens` wrote `line`, and maybe more. The whole of it is none of its parts.
    """
    at, log_p = 0, []
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
