"""The body of a function, from a request to the engine to text that may be put into the file."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, Protocol

from dlsp.completions import infill
from dlsp.completions.filters.following_lines import cut_following_lines
from dlsp.completions.filters.syntax import cut_broken
from dlsp.completions.filters.text import cut_special
from dlsp.context.parts import Context
from dlsp.errors import UserError
from dlsp.function import Gap, unwritten
from dlsp.syntax.source import Source

# Of alternatives: the model's own choice is seed 0, any other seed draws another.
TEMPERATURE = 0.6
# Bodies that are drawn where the model writes a placeholder.
MAX_ATTEMPTS = 4
# The seeds of these attempts lie so far apart that none is the alternative that is asked for next.
SEED_STRIDE = 1000


class InfillEngine(Protocol):
    """An engine, or a connection to one."""

    def infill(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]: ...


class Unwritten(UserError):
    """The answer is no body."""


def request(context: Context, path: str, mode: str, seed: int) -> dict[str, Any]:
    """The engine's request for a body."""
    more = {"seed": seed, "temperature": TEMPERATURE} if seed else {}
    return infill.request(context, path=path, mode=mode, end="body", priority="filling", **more)


async def write(
    engine: InfillEngine,
    asked: dict[str, Any],
    finish: Callable[[str], Awaitable[str]],
    on_canvas: Callable[[dict[str, Any]], None] = lambda canvas: None,
) -> str:
    """What `finish`, which calls `body`, makes of the engine's answer to a `request`; a placeholder is drawn again.

    `on_canvas` gets the engine's `canvas` events. Raises UserError if nothing came that may be put into the file.
    """
    for attempt in range(MAX_ATTEMPTS):
        more = {"seed": asked.get("seed", 0) + attempt * SEED_STRIDE, "temperature": TEMPERATURE} if attempt else {}
        answer = None
        async with aclosing(engine.infill(asked | more)) as events:
            async for event in events:
                if event["event"] == "canvas":
                    on_canvas(event)
                elif event["event"] == "fill":
                    answer = event["text"]
        if answer is None:
            raise UserError("The engine gave no answer; try again.")
        with suppress(Unwritten):
            return await finish(answer)
    raise Unwritten("The model found no body. Try a more exact docstring or comment, another seed, or the model 1.5b.")


def body(answer: str, text: str, gap: Gap, source: Source | None) -> str:
    """What of the engine's answer takes the gap's place in `text`, whose lines end in `\\n`.

    With the document's `source`, the file parses no worse for it. Raises UserError if nothing is left, Unwritten if
    what is left does nothing.
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
