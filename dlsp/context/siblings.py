"""Places of the document itself that are like the one at the cursor: the line to be written often stands there."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from dlsp.context.parts import Part

WHY = "like the lines at the cursor"
# So many lines with text up to the cursor say what the place is like, the last the most; of the lines before the cursor
# these are looked at.
WEIGHTS, MAX_GAP = (1.0, 0.6, 0.3), 50
# A line that is only begun says as much as a whole one from so many words on.
TELLING_WORDS = 3
# The least likeness of a place that is shown, from 0 to 1, and what part of the best one's it is; how many are shown.
MIN_LIKENESS, MIN_OF_BEST, MAX_PLACES = 0.45, 0.8, 3
# Lines shown before and after the one that is like the cursor's.
LINES_BEFORE, LINES_AFTER = 3, 6
# Lines of the document that are searched, the nearest ones, and characters of each.
MAX_SEARCHED, MAX_LINE = 4000, 300
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\w\s]")


def siblings(
    path: str, before: str, after: str, shown: range, most: int, previous: Sequence[Part] = ()
) -> tuple[Part, ...]:
    """At most `most` tokens of places outside of the rows `shown`, in document order.

    `previous` are those of the last request: they stay, for what was prefilled, while the most alike place is there.
    """
    at = before.count("\n")
    first = max(0, at - MAX_SEARCHED // 2)
    lines = [*before.split("\n"), *after.split("\n")[1:]][first : first + MAX_SEARCHED]
    taken = [range(shown.start - first, shown.stop - first)]
    standing = _standing(previous, lines, first, taken[0])
    parts: list[Part] = []
    for row in _alike(lines, at - first, taken[0]):
        if not parts and any(row in rows for rows in standing):
            return tuple(replace(part, row=first + rows.start) for rows, part in standing.items())
        span = range(max(0, row - LINES_BEFORE), min(len(lines), row + LINES_AFTER + 1))
        if any(span.start < other.stop and other.start < span.stop for other in taken):
            continue
        text = "\n".join(lines[span.start : span.stop]) + "\n"
        part = Part(path, first + span.start, text, WHY).cut(most)
        if part.text.count("\n") > row - span.start + 1:
            most -= part.tokens
            taken.append(span)
            parts.append(part)
        if len(parts) == MAX_PLACES:
            break
    return tuple(sorted(parts, key=lambda part: part.row))


def _standing(previous: Sequence[Part], lines: Sequence[str], first: int, shown: range) -> dict[range, Part]:
    """The previous parts by their rows now, if all still stand outside of the rows `shown`; else {}."""
    found: dict[range, Part] = {}
    for part in previous:
        wanted = part.text.removesuffix("\n").split("\n")
        nearest = sorted(range(len(lines)), key=lambda row, part=part: abs(first + row - part.row))
        starts = (row for row in nearest if lines[row] == wanted[0])
        row = next((row for row in starts if lines[row : row + len(wanted)] == wanted), None)
        if row is None or (row < shown.stop and shown.start < row + len(wanted)):
            return {}
        found[range(row, row + len(wanted))] = part
    return found


def _alike(lines: Sequence[str], at: int, shown: range) -> Iterator[int]:
    """Rows that are more like row `at` than any of the rows `shown`, the most alike first, then the nearest."""
    rows = [row for row in range(at, max(-1, at - MAX_GAP), -1) if lines[row].strip()][: len(WEIGHTS)]
    wanted = [_words(lines[row]) for row in rows]
    if not wanted:
        return
    # The cursor's own line is only begun: a line is like it that has all its words, and a few words say little.
    begun = rows[0] == at
    weights = [min(1.0, len(wanted[0]) / TELLING_WORDS) if begun else WEIGHTS[0], *WEIGHTS[1 : len(wanted)]]
    likeness: list[tuple[float, int, int]] = []
    least = MIN_LIKENESS
    words = [_words(line) for line in lines]
    texts = [row for row, found in enumerate(words) if found]
    for number, row in enumerate(texts):
        if row in rows:
            continue
        score = 0.0
        for back, (weight, mine) in enumerate(zip(weights, wanted, strict=True)):
            theirs = words[texts[number - back]] if number >= back else frozenset[str]()
            score += weight * len(mine & theirs) / len(mine if begun and not back else mine | theirs)
        score /= sum(weights)
        if row in shown:
            least = max(least, score)
        else:
            likeness.append((-score, abs(row - at), row))
    likeness.sort()
    least = max(least, -likeness[0][0] * MIN_OF_BEST) if likeness else least
    yield from (row for score, _, row in likeness if -score > least)


@lru_cache(maxsize=2 * MAX_SEARCHED)
def _words(line: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(line, 0, MAX_LINE))
