"""From the engine's answer to the text that may be inserted at the cursor. Pure functions."""

from dlsp.trim.endings import line_ending, with_endings, without_tail
from dlsp.trim.repeats import cut_following_lines, cut_rest_of_line
from dlsp.trim.special import cut_special

__all__ = ["trim"]


def trim(answer: str, before: str, after: str) -> str:
    """The part of `answer` worth inserting between `before` and `after`; "" when nothing is left.

    The answer has `\\n` at its line ends, the result what the document has.
    """
    line_before = _lines(before)[-1]
    rest, *following = _lines(after)
    text = cut_special(answer.replace("\r\n", "\n"))
    text = cut_rest_of_line(text, line_before, rest)
    text = cut_following_lines(text, line_before, rest, following)
    text = without_tail(text, rest)
    return with_endings(text, line_ending(before + after))


def _lines(text: str) -> list[str]:
    """At least one line, without line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
