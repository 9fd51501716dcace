"""Where a completion ends, how its lines end, and what of the model's text is no code at all."""

import re

FENCE = "```"
SPECIAL_TOKEN = re.compile(r"<\|\w+\|>")
_FENCED = re.compile(f"^{FENCE}", re.MULTILINE)
# Characters that may follow the cursor on its line without the line going on.
_CLOSING_CHARACTERS = " \t)]}>\"'`,;:"


def line_ending(document: str) -> str:
    """The first line ending in `document`, `\\n` if it has none."""
    found = re.search(r"\r\n|\n|\r", document)
    return found.group() if found else "\n"


def with_newlines(text: str) -> str:
    """`text` with `\\n` at the end of each line."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def with_endings(text: str, ending: str) -> str:
    """`text`, whose lines end in `\\n`, with another line ending."""
    return text.replace("\n", ending)


def without_trailing_space(text: str, rest_of_line: str) -> str:
    """`text` without white space at its end; "" if there is nothing else.

    Where text follows the cursor on its line, blanks at the end may separate the two and are kept.
    """
    if not text.strip():
        return ""
    return text if rest_of_line.strip() else text.rstrip()


def cut_at_line_end(text: str, rest_of_line: str) -> str:
    """The first line of `text` if the cursor's line goes on with more than closing characters, else all of it."""
    return text.split("\n", 1)[0] if rest_of_line.strip(_CLOSING_CHARACTERS) else text


def cut_special(text: str) -> str:
    """`text` up to the first thing that reads like a special token, such as `<|endoftext|>`."""
    return SPECIAL_TOKEN.split(text, maxsplit=1)[0]


def cut_fence(text: str, document: str) -> str:
    """`text` up to a Markdown fence, after which the model starts to explain; unchanged if `document` has fences."""
    return text if FENCE in document else _FENCED.split(text, maxsplit=1)[0]
