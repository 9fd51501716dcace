"""No special token reaches an editor, and no talk about the code."""

import re

FENCE = "```"
_FENCED = re.compile(f"^{FENCE}", re.MULTILINE)
SPECIAL = re.compile(r"<\|\w+\|>")


def cut_special(text: str) -> str:
    """`text` up to the first thing that reads like a special token, such as `<|endoftext|>`."""
    return SPECIAL.split(text, maxsplit=1)[0]


def cut_fence(text: str, document: str) -> str:
    """`text` up to a fence of Markdown, behind which the model begins to talk; a document that has some keeps them."""
    return text if FENCE in document else _FENCED.split(text, maxsplit=1)[0]
