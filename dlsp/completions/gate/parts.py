"""Parts of a line that can be offered alone when the whole line is not certain enough."""

import re
from collections.abc import Iterable, Iterator

from dlsp.completions.gate.features import Facts
from dlsp.syntax.brackets import CLOSERS, OPENERS, QUOTES, unclosed

# Minimum new characters of an automatic suggestion; fewer are faster typed than read.
MIN_CHARACTERS = 4

_OPENS = re.compile(r"[\s(\[{]*(?:(?<=[\s(\[{=,:])[\"'`])?\Z")
_DOTS = (".", "::", "->")
# A complete string, an escaped character, or an apostrophe in a word or a Rust lifetime: none opens a string.
_NO_OPEN_QUOTE = re.compile(
    r'\\.|"(?:\\.|[^"\\])*"|`[^`]*`|(?<!\w)[bfruBFRU]{0,2}\'(?:\\.|[^\'\\])*\'(?!\w)|(?<=\w)\'(?=\w)|[<&]\'(?=\w)'
)

# The number of characters a token wrote, and its log-probability.
Token = tuple[int, float]


def parts(facts: Facts, line: str, tokens: Iterable[Token]) -> Iterator[tuple[str, list[float]]]:
    """Yield the proper prefixes of `line` that may be offered at the cursor, shortest first, with their tokens'
    log-probabilities.

    Each ends at the end of a token and of a word, and in code never inside of a bracket, string or dotted name that it
    began, unless the rest of the cursor's line closes it. `tokens` wrote `line` and possibly more.
    """
    open_before = _open_quote(facts.line_before)
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
        if not _is_stump(facts, open_before, part, line[len(part) :]):
            yield part, list(log_p)


def _of_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _is_stump(facts: Facts, open_before: str, part: str, left_out: str) -> bool:
    """Whether `part`, without `left_out` of its line, would leave code unfinished in its middle. `open_before` is the
    quote of the string that the cursor's line has begun, if any.
    """
    if facts.inside in ("comment", "prose"):
        return False
    if facts.inside == "string" and not open_before:
        return False  # a string of several lines
    if quote := _open_quote(open_before + part):
        return quote not in facts.line_after
    if part.endswith(_DOTS) or left_out.startswith(_DOTS) or part[-1:] + left_out[:1] in _DOTS:
        return True
    closers = [OPENERS[opener] for opener in reversed(unclosed(part))]
    after = [char for char in facts.line_after if char in CLOSERS]
    return after[: len(closers)] != closers


def _open_quote(line: str) -> str:
    """The quote of the string that is open at the end of `line`; "" if none is."""
    bare = _NO_OPEN_QUOTE.sub("", line)
    return next((char for char in bare if char in QUOTES), "")
