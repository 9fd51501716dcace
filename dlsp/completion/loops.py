"""Cut an answer that says the same again: the lines above the cursor, or its own."""

LONGEST = 8
"""Lines of a group that is looked for a second time."""
TELLING = 12
"""Letters and digits that make a repetition a mistake rather than a coincidence."""


def cut_repeats(text: str, before: str) -> str:
    """`text` up to where a group of its lines comes again, a single line for the third time; nothing if its first
    lines are those right above the cursor."""
    lines = text.split("\n")
    *above, line_before = before.rstrip(" \t").split("\n")
    if not line_before and _telling(shared := _same_start(lines, _last(above, LONGEST))):
        return "" if len(shared) > 1 or len(lines) == 1 else text
    for start in range(len(lines)):
        for size in range(1, LONGEST + 1):
            group = lines[start : start + size]
            times = 3 if size == 1 else 2
            if lines[start : start + size * times] == group * times and _telling(group):
                return "\n".join(lines[: start + size])
    return text


def _same_start(lines: list[str], above: list[str]) -> list[str]:
    """The longest group of lines that ends `above` and begins `lines`, indentation at the start aside."""
    for size in range(min(len(lines), len(above)), 0, -1):
        group = above[-size:]
        if [line.strip() for line in lines[:size]] == [line.strip() for line in group]:
            return group
    return []


def _last(lines: list[str], most: int) -> list[str]:
    return [line for line in lines if line.strip()][-most:]


def _telling(lines: list[str]) -> bool:
    return sum(char.isalnum() for line in lines for char in line) >= TELLING
