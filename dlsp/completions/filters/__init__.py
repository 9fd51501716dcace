"""Filters that turn the engine's answer into text that can be inserted at the cursor: pure functions, one per file."""

from dlsp.completions.filters.brackets import cut_unmatched
from dlsp.completions.filters.definitions import cut_defined
from dlsp.completions.filters.following_lines import cut_following_lines, cut_overlap
from dlsp.completions.filters.indentation import indented
from dlsp.completions.filters.new_secrets import cut_new_secrets
from dlsp.completions.filters.repeats import cut_repeats, cut_stutter
from dlsp.completions.filters.rest_of_line import cut_rest_of_line
from dlsp.completions.filters.text import (
    cut_at_line_end,
    cut_fence,
    cut_special,
    line_ending,
    with_endings,
    with_newlines,
    without_trailing_space,
)
from dlsp.syntax.broken import cut_broken
from dlsp.syntax.source import Source

__all__ = ["trim"]

# Characters before the cursor, and after it, that the filters search.
SEARCHED_CHARACTERS = 20_000


def trim(answer: str, before: str, after: str, source: Source | None = None) -> str:
    """The part of `answer` worth inserting between `before` and `after`; "" if nothing is left.

    `answer` has `\\n` line endings; the result has those of the document. If `source` is given, text is cut where it
    would add syntax errors to the document.
    """
    above, below = with_newlines(before[-SEARCHED_CHARACTERS:]), with_newlines(after[:SEARCHED_CHARACTERS])
    line_before = above.rpartition("\n")[2]
    rest, *following = below.split("\n")
    text = cut_special(answer.replace("\r\n", "\n"))
    if source is None or source.language.name != "markdown":
        text = cut_fence(text, above + below)
    text = indented(text, above, below)
    text = cut_rest_of_line(text, line_before, rest)
    text = cut_at_line_end(text, rest)
    text = cut_defined(text, above, below)
    text = cut_following_lines(text, line_before, rest, following)
    text = cut_overlap(text, below)
    text = cut_stutter(cut_repeats(text, above), above + below)
    text = cut_unmatched(text, above)
    text = cut_new_secrets(text, before, after)
    text = without_trailing_space(text, rest)
    text = cut_broken(with_endings(text, line_ending(before + after)), before, after, source)
    return text
