"""Other texts for a cursor than the one that is suggested: several samples in one batch."""

from contextlib import aclosing
from typing import Any

from dlsp.completions import infill, trimming
from dlsp.completions.closers import replaced
from dlsp.completions.filters.text import line_ending, with_endings
from dlsp.completions.generation import Generator, InThread
from dlsp.completions.state import DocumentState
from dlsp.completions.types import CompletionResult, Cursor

# How many answers are sampled, and at which temperature. The model's greedy answer is the suggestion itself.
ANSWERS = 4
TEMPERATURE = 0.8


async def alternatives(
    generator: Generator, in_thread: InThread, cursor: Cursor, state: DocumentState
) -> list[CompletionResult]:
    """The texts to insert, with the document's line endings, the likeliest first; none if the engine is not ready.
    Raises UserError if it fails.
    """
    # Without a session, which serves one request at a time: that of the suggestion stays as it is.
    sampled = {"n": ANSWERS, "temperature": TEMPERATURE, "seed": 1, "session": None}
    asked = await generator.request(cursor, state, "filling", invoked=True, overrides=sampled)
    if isinstance(asked, CompletionResult):
        return []
    async with aclosing(generator.connection(cursor).infill(asked)) as events:
        fills = [event async for event in events if event["event"] == "fill"]
    facts = state.facts(cursor)
    texts: dict[str, None] = {}  # in their order
    for fill in sorted(fills, key=_log_p, reverse=True):
        lines = infill.without_cut_line(fill["text"], fill["reason"])
        text, _ = await in_thread(trimming.trimmed, cursor, facts, lines, fill["reason"])
        if text:
            texts[text] = None
    ending = line_ending(cursor.before + cursor.after)
    return [CompletionResult(with_endings(text, ending), replaced=replaced(text, cursor.closers)) for text in texts]


def _log_p(fill: dict[str, Any]) -> float:
    return sum(log_p for _, log_p in fill.get("confidence", ()))
