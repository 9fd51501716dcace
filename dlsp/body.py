"""The body of a function, from a request to the engine to text that may be put into the file."""

from typing import Any

from dlsp import suggest
from dlsp.completion.following import cut_following_lines
from dlsp.completion.special import cut_special
from dlsp.completion.syntax import cut_broken
from dlsp.context.parts import Context
from dlsp.errors import UserError
from dlsp.function import Gap
from dlsp.syntax.source import Source

TEMPERATURE = 0.6
"""Of alternatives: the model's own choice is seed 0, any other seed draws another."""


def request(context: Context, path: str, mode: str, seed: int) -> dict[str, Any]:
    """The engine's request for a body."""
    more = {"seed": seed, "temperature": TEMPERATURE} if seed else {}
    return suggest.request(context, path=path, mode=mode, end="body", priority="filling", **more)


def body(answer: str, text: str, gap: Gap, source: Source | None) -> str:
    """What takes the gap's place in `text`, whose lines end in `\\n`, of the engine's answer.

    With the document's `source`, the file parses no worse for it. UserError if nothing is left.
    """
    before, after = text[: gap.start] + gap.lead, gap.tail + text[gap.end :]
    written = cut_special(answer).rstrip()
    rest, *following = after.split("\n")
    written = cut_following_lines(written, before.rpartition("\n")[2], rest, following).rstrip()
    if not written.strip():
        raise UserError("The model has nothing to fill in here.")
    written = cut_broken(written, before, after, source)
    if not written.strip():
        raise UserError("What the model wrote does not parse here; another seed may do better.")
    return gap.lead + written + gap.tail
