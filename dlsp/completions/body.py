"""The body of a function, from a request to the engine to text that may be put into the file."""

from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Any

from dlsp.completions import infill
from dlsp.completions.filters.following_lines import cut_following_lines
from dlsp.completions.filters.syntax import cut_broken
from dlsp.completions.filters.text import cut_special
from dlsp.context.parts import Context
from dlsp.engine.client import Engine
from dlsp.errors import UserError
from dlsp.function import Gap, unwritten
from dlsp.syntax.source import Source

TEMPERATURE = 0.6
"""Of alternatives: the model's own choice is seed 0, any other seed draws another."""
DRAWS = 4
"""Of a body, where the model writes a placeholder again."""
APART = 1000
"""The seeds of these draws: far from each other, so that none is the alternative that is asked for next."""


class Unwritten(UserError):
    """The answer is no body."""


def request(context: Context, path: str, mode: str, seed: int) -> dict[str, Any]:
    """The engine's request for a body."""
    more = {"seed": seed, "temperature": TEMPERATURE} if seed else {}
    return infill.request(context, path=path, mode=mode, end="body", priority="filling", **more)


async def write(
    engine: Engine,
    asked: dict[str, Any],
    text: str,
    gap: Gap,
    source: Source | None,
    see: Callable[[dict[str, Any]], None] = lambda canvas: None,
) -> str:
    """What `body` makes of the engine's answer to a `request`; an answer that is no body is drawn again.

    `see` gets the engine's `canvas` events. UserError if nothing came that may be put into the file.
    """
    for draw in range(DRAWS):
        more = {"seed": asked.get("seed", 0) + draw * APART, "temperature": TEMPERATURE} if draw else {}
        answer = None
        async with aclosing(engine.infill(asked | more)) as events:
            async for event in events:
                if event["event"] == "canvas":
                    see(event)
                elif event["event"] == "fill":
                    answer = event["text"]
        if answer is None:
            raise UserError("The engine gave no answer; try again.")
        with suppress(Unwritten):
            return body(answer, text, gap, source)
    raise Unwritten("The model found no body. Try a more exact docstring or comment, another seed, or the model 1.5b.")


def body(answer: str, text: str, gap: Gap, source: Source | None) -> str:
    """What takes the gap's place in `text`, whose lines end in `\\n`, of the engine's answer.

    With the document's `source`, the file parses no worse for it. UserError if nothing is left, Unwritten if that does
    nothing.
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
    if unwritten(written):
        raise Unwritten("The model wrote a placeholder here; another seed may do better.")
    return gap.lead + written + gap.tail
