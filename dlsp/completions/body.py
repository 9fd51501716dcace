"""Function bodies: build the engine request and turn the answer into text that can be inserted."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, Protocol

from dlsp.completions import infill
from dlsp.completions.filters.following_lines import cut_following_lines
from dlsp.completions.filters.text import cut_special
from dlsp.context.parts import Context
from dlsp.errors import UserError
from dlsp.function import Gap, unwritten
from dlsp.syntax.broken import cut_broken
from dlsp.syntax.source import Source

# Sampling temperature for alternatives: seed 0 is the model's greedy answer, any other seed samples another one.
TEMPERATURE = 0.6
# How many bodies are sampled if the model writes only a placeholder.
MAX_ATTEMPTS = 4
# The distance between the seeds of these attempts, so large that no attempt uses the seed of the user's next
# alternative.
SEED_STRIDE = 1000


class InfillEngine(Protocol):
    """An engine, or a connection to one."""

    def infill(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]: ...


class Unwritten(UserError):
    """The answer is not a body, only a placeholder."""


def request(context: Context, path: str, mode: str, seed: int) -> dict[str, Any]:
    """Build the engine request for a function body."""
    sampling: dict[str, Any] = {"seed": seed, "temperature": TEMPERATURE} if seed else {}
    return infill.request(context, path=path, mode=mode, end="body", priority="filling", **sampling)


async def write(
    engine: InfillEngine,
    asked: dict[str, Any],
    finish: Callable[[str], Awaitable[str]],
    on_canvas: Callable[[dict[str, Any]], None] = lambda canvas: None,
) -> str:
    """Send a `request` and return the body that `finish`, which calls `body`, makes of the answer.

    If the answer is a placeholder, another is sampled, up to MAX_ATTEMPTS in all. `on_canvas` receives the engine's
    `canvas` events. Raises UserError if no usable body came.
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
    """Return the part of the engine's answer that replaces the gap in `text`, whose lines end in `\\n`.

    If `source` is given, text is cut where it would add syntax errors to the document. Raises UserError if nothing is
    left, and Unwritten if what is left is only a placeholder.
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
