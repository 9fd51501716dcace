"""End an answer where it should: in the middle of a line at the line's end."""

_ENDS = " \t)]}>\"'`,;:"


def to_border(text: str, rest: str) -> str:
    """`text` in its first line alone if the cursor's line goes on with more than what closes it."""
    return text.split("\n", 1)[0] if rest.strip(_ENDS) else text
