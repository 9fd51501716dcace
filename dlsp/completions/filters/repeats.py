"""Cut repetitions in an answer: of the lines above the cursor, of its own lines, or of a few characters."""

from unicodedata import category

# The most lines of a group that is recognised as a repetition.
MAX_GROUP_LINES = 8
# Letters and digits that a repetition must contain; a shorter one may be coincidence.
MIN_TELLING_CHARACTERS = 12
# Longest unit, in characters, repeated within a line; how often it must repeat; characters of all repetitions together.
MAX_UNIT_CHARACTERS, MIN_REPETITIONS, MIN_REPEATED_CHARACTERS = 8, 12, 24


def cut_repeats(text: str, before: str) -> str:
    """`text` up to where a group of its lines repeats (a single line: for the third time).

    Returns "" if its first lines repeat those right above the cursor.
    """
    lines = text.split("\n")
    *above, line_before = before.rstrip(" \t").split("\n")
    if not line_before and _telling(shared := _same_start(lines, _last(above, MAX_GROUP_LINES))):
        return "" if len(shared) > 1 or len(lines) == 1 else text
    shown = [before.rpartition("\n")[2] + lines[0], *lines[1:]]
    for start in range(len(lines)):
        for size in range(1, MAX_GROUP_LINES + 1):
            group = shown[start : start + size]
            times = 3 if size == 1 else 2
            if shown[start : start + size * times] == group * times and _telling(group):
                return "\n".join(lines[: start + size])
    return text


def cut_stutter(text: str, document: str) -> str:
    """`text` without its last line if that line ends in many repetitions of a few characters.

    Not cut are repetitions that the document has too, rulers (which have no letter or digit) and rows of a table.
    """
    kept, _, line = text.rpartition("\n")
    for size in range(1, min(MAX_UNIT_CHARACTERS, len(line)) + 1):
        unit = line[-size:]
        start = next((at for at in range(len(line) - size - 1, -1, -1) if line[at] != line[at + size]), -1) + 1
        if (
            len(line) - start >= max(MIN_REPEATED_CHARACTERS, MIN_REPETITIONS * size)
            and _says(unit)
            and unit * (MIN_REPETITIONS - 1) not in document
        ):
            return kept
    return text


def _same_start(lines: list[str], above: list[str]) -> list[str]:
    """The longest group of lines that ends `above` and starts `lines`, compared without indentation."""
    for size in range(min(len(lines), len(above)), 0, -1):
        group = above[-size:]
        if [line.strip() for line in lines[:size]] == [line.strip() for line in group]:
            return group
    return []


def _last(lines: list[str], most: int) -> list[str]:
    return [line for line in lines if line.strip()][-most:]


def _telling(lines: list[str]) -> bool:
    return sum(char.isalnum() for line in lines for char in line) >= MIN_TELLING_CHARACTERS


def _says(unit: str) -> bool:
    """Whether the unit contains a letter, a digit or a pictograph, and no comma."""
    return "," not in unit and any(char.isalnum() or (category(char) == "So" and not _draws(char)) for char in unit)


def _draws(char: str) -> bool:
    """Whether the character is a box, block or geometric shape, as used in rulers."""
    return "\u2500" <= char <= "\u25ff"
