"""Text helpers: where a completion ends, line endings, and removal of model output that is not code."""

import re

FENCE = "```"
SPECIAL_TOKEN = re.compile(r"<\|\w+\|>")
_FENCED = re.compile(f"^{FENCE}", re.MULTILINE)
# Characters after the cursor that do not count as the line going on.
_CLOSING_CHARACTERS = " \t)]}>\"'`,;:"


def line_ending(document: str) -> str:
    """The first line ending in `document`; `\\n` if it has none."""
    found = re.search(r"\r\n|\n|\r", document)
    return found.group() if found else "\n"


def with_newlines(text: str) -> str:
    """`text` with all line endings replaced by `\\n`."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def with_endings(text: str, ending: str) -> str:
    """`text` with its `\\n` line endings replaced by `ending`."""
    return text.replace("\n", ending)


def without_trailing_space(text: str, rest_of_line: str) -> str:
    """`text` without trailing white space; "" if it is only white space.

    If text follows the cursor on its line, trailing blanks may separate the two and are kept.
    """
    if not text.strip():
        return ""
    return text if rest_of_line.strip() else text.rstrip()


def cut_at_line_end(text: str, rest_of_line: str) -> str:
    """The first line of `text` if more than closing characters follow on the cursor's line, else all of `text`."""
    return text.split("\n", 1)[0] if rest_of_line.strip(_CLOSING_CHARACTERS) else text


def cut_special(text: str) -> str:
    """`text` up to the first special token, such as `<|endoftext|>`."""
    return SPECIAL_TOKEN.split(text, maxsplit=1)[0]


def cut_fence(text: str, document: str) -> str:
    """`text` up to a Markdown fence, after which the model starts to explain; unchanged if `document` has fences."""
    return text if FENCE in document else _FENCED.split(text, maxsplit=1)[0]
