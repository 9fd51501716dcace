"""No special token reaches an editor."""

import re

SPECIAL = re.compile(r"<\|\w+\|>")


def cut_special(text: str) -> str:
    """`text` up to the first thing that reads like a special token, such as `<|endoftext|>`."""
    return SPECIAL.split(text, maxsplit=1)[0]
