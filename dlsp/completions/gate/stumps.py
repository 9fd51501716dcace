"""Stumps: text that ends inside a bracket, a string or a dotted name that it began."""

import re
from dataclasses import replace
from functools import lru_cache

from dlsp.completions.gate.features import Facts
from dlsp.syntax.brackets import CLOSERS, OPENERS, QUOTES, unclosed

_DOTS = (".", "::", "->")
# A complete string, an escaped character, or an apostrophe in a word or a Rust lifetime: none opens a string.
_NO_OPEN_QUOTE = re.compile(
    r'\\.|"(?:\\.|[^"\\])*"|`[^`]*`|(?<!\w)[bfruBFRU]{0,2}\'(?:\\.|[^\'\\])*\'(?!\w)|(?<=\w)\'(?=\w)|[<&]\'(?=\w)'
)
_WORD_AT_END = re.compile(r"\w+\Z")
# A word, or one other character, at the end: what is cut off at a time.
_LAST = re.compile(r"\s*(?:\w+|[^\w\s])\Z")


def is_stump(facts: Facts, text: str, left_out: str = "") -> bool:
    """Whether `text` at the cursor, without `left_out` of its line, would leave code unfinished in its middle.

    Nothing is unfinished that the rest of the cursor's line closes.
    """
    if facts.inside in ("comment", "prose"):
        return False
    open_before = _open_quote(facts.line_before)
    if facts.inside == "string" and not open_before:
        return False  # a string of several lines
    if quote := _open_quote(open_before + text):
        return quote not in facts.line_after
    if text.endswith(_DOTS) or left_out.startswith(_DOTS) or text[-1:] + left_out[:1] in _DOTS:
        return True
    if not unclosed(text):
        return False
    # The line's first closers are the text's own only if it has as many as the line before the cursor needs, too.
    closers = [OPENERS[opener] for opener in reversed(unclosed(facts.line_before + text))]
    after = [char for char in facts.line_after if char in CLOSERS]
    return after[: len(closers)] != closers


def without_stump(facts: Facts, text: str, written: str) -> str:
    """`text` without what is unfinished at the end of its last line; "" if nothing is left.

    `written` is what the model wrote, of which `text` was made. A line of `text` that ends where the model ended one is
    finished, whatever it opens: `if (x) {`.
    """
    *above, last = text.split("\n")
    if (left_out := _left_out(last, written)) is None:
        return text
    return "\n".join([*above, _finished(replace(facts, line_before="") if above else facts, last, left_out)]).rstrip()


def without_cut_end(facts: Facts, text: str) -> str:
    """The same for a text that was cut somewhere in its last line, perhaps inside a word."""
    *above, last = text.split("\n")
    at_line = replace(facts, line_before="") if above else facts
    kept = _finished(at_line, _WORD_AT_END.sub("", last), "")
    return "\n".join([*above, kept]).rstrip()


def _left_out(last: str, written: str) -> str | None:
    """What the model wrote after `last` on the same line; None if it wrote nothing more there."""
    last = last.strip()
    lines = [line.strip() for line in written.split("\n")]
    if last in lines:
        return None
    return next((line[len(last) :] for line in reversed(lines) if line.startswith(last)), "")


def _finished(facts: Facts, line: str, left_out: str) -> str:
    """The longest beginning of `line` that is no stump, without trailing white space."""
    line = line.rstrip()
    while line and is_stump(facts, line, left_out):
        shorter = _LAST.sub("", line)
        left_out, line = line[len(shorter) :], shorter.rstrip()
    return line


@lru_cache(maxsize=64)
def _open_quote(line: str) -> str:
    """The quote of the string that is open at the end of `line`; "" if none is."""
    bare = _NO_OPEN_QUOTE.sub("", line)
    return next((char for char in bare if char in QUOTES), "")
