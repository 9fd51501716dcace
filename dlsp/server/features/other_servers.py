"""`dlsp/askServers`: what the editor's other language servers say about the place at the cursor, for the context.

No suggestion waits for an answer: the next request at the place has it.
"""

import asyncio
import math
import time
from urllib.parse import unquote

from lsprotocol import types

from dlsp.completions.types import Cursor
from dlsp.context.asked import Place, place
from dlsp.context.server_answers import Answer, Diagnostic
from dlsp.server.client import Question
from dlsp.server.params import ServersAnswer
from dlsp.server.session import Session

# The most characters that are kept of a text, and the most errors.
MAX_CHARACTERS, MAX_ERRORS = 2000, 100
# Seconds after an empty answer until the same is asked again: a server that has just been started knows nothing yet.
AGAIN_S = 1.0


class OtherServers:
    """Asks about each place in the row that the user is in until something is told about it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._asked: dict[str, dict[Place, float]] = {}  # by document, the time at which it may be asked again
        self._tasks: set[asyncio.Task[None]] = set()

    def look(self, cursor: Cursor) -> None:
        """Ask about the place at the cursor, if the editor takes questions and this one is not answered."""
        comments = cursor.language and cursor.language.comment
        if not self._session.client.asks_servers or cursor.eagerness == "off" or not comments:
            return
        here, uri = place(cursor.before), unquote(cursor.uri)
        # Those of other rows are asked about again: an edit elsewhere may have changed the answer.
        asked = {each: when for each, when in self._asked.get(uri, {}).items() if each.row == here.row}
        question = self._question(cursor, here)
        if question and asked.get(here, 0.0) <= time.monotonic():
            asked[here] = math.inf
            task = asyncio.create_task(self._ask(question, cursor, here))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._asked[uri] = asked

    def closed(self, uri: str) -> None:
        """The document was closed: answers that are still to come are dropped."""
        self._asked.pop(unquote(uri), None)

    def close(self) -> None:
        """Wait for no answer any more."""
        for task in self._tasks:
            task.cancel()

    async def _ask(self, question: Question, cursor: Cursor, here: Place) -> None:
        told = await self._session.client.ask_servers(question)
        asked = self._asked.get(unquote(cursor.uri), {})
        if here in asked:
            answer, workspace = _answer(told or ServersAnswer(), cursor), cursor.workspace
            workspace.server_answers.note(workspace.name(cursor.path), here, answer)
            if answer == Answer():
                asked[here] = time.monotonic() + AGAIN_S

    def _question(self, cursor: Cursor, here: Place) -> Question | None:
        """What the context can use at a place; None for nothing."""
        without = cursor.workspace.without
        question = Question(
            cursor.uri,
            hover=self._back(cursor, here.owner_back) if here.owner and "types" not in without else None,
            signature=self._back(cursor, 0) if here.called and "types" not in without else None,
            diagnostics="diagnostics" not in without,
        )
        return question if question.hover or question.signature or question.diagnostics else None

    def _back(self, cursor: Cursor, characters: int) -> types.Position | None:
        """The position so many characters before the cursor; None if it is in another cell of a notebook."""
        at = len(cursor.before) - characters
        before, row = cursor.before[:at], cursor.position.line - cursor.before.count("\n", at)
        return types.Position(row, self._session.units(before[before.rfind("\n") + 1 :])) if row >= 0 else None


def _answer(told: ServersAnswer, cursor: Cursor) -> Answer:
    first = cursor.before.count("\n") - cursor.position.line  # of a notebook's cell, in the text of all cells
    errors = (told.diagnostics or [])[:MAX_ERRORS]
    return Answer(
        (told.hover or "")[:MAX_CHARACTERS],
        (told.signature or "")[:MAX_CHARACTERS],
        tuple(Diagnostic(first + each.line, each.message[:MAX_CHARACTERS]) for each in errors),
    )
