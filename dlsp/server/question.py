"""What belongs at the cursor, as the editor asks it: every question ends in a suggestion or in a reason for quiet."""

import asyncio
import logging
import time
import traceback
from dataclasses import dataclass

from lsprotocol import types

from dlsp.completions.gate import gate
from dlsp.completions.types import SkipReason
from dlsp.errors import UserError
from dlsp.server import ahead
from dlsp.server.growing import Growing
from dlsp.server.latest import Stale
from dlsp.server.moment import Moment, Silence
from dlsp.server.offer import Offer, offer
from dlsp.server.server import Server

log = logging.getLogger(__name__)

ANSWER_S = 4.0
"""Seconds after which the editor is told that there is nothing; what was prefilled stays for the next request."""

PATIENCE_S = 0.12
"""Seconds for a whole answer; from then on its first lines do, and the others follow when these stand."""


@dataclass(frozen=True)
class Question:
    """`invoked`: the user asks for it by a key. After `seconds`, by default ANSWER_S, there is nothing; where they were
    given the engine goes on, for the next question.
    """

    uri: str
    position: types.Position
    invoked: bool
    seconds: float | None = None


async def answered(server: Server, question: Question) -> Offer:
    """A suggestion, inserted at the cursor and replacing nothing, or why there is none; noted in the logs."""
    began = time.monotonic()
    note, made = "", Offer()
    try:
        with server.status:
            made = await server.latest.run(question.uri, _answer(server, question))
    except Stale:
        made = Offer(quiet=SkipReason.STALE)
    except TimeoutError:
        made = Offer(quiet=SkipReason.SLOW)
    except asyncio.CancelledError:
        ahead.leave(server, question.uri)
        server.note("cancelled by the editor")
        raise
    except Silence as silence:
        made, note = Offer(quiet=silence.quiet, verdict=silence.verdict), silence.note
    except UserError as error:
        made, note = Offer(quiet=SkipReason.FAILED), str(error)
    except Exception as error:
        # No message and no line of the error is logged: they might hold the document's text.
        where = traceback.extract_tb(error.__traceback__)[-1]
        made, note = Offer(quiet=SkipReason.FAILED), f"{type(error).__name__} in {where.name}, line {where.lineno}"
    milliseconds = (time.monotonic() - began) * 1000
    if made.quiet:
        server.stay_quiet(made.quiet)
    server.decisions.note(server, question, made, milliseconds)
    what = f"quiet: {made.quiet.value}" if made.quiet else "a suggestion"
    server.note(", ".join(part for part in (what, note or made.note, f"{milliseconds:.0f} ms") if part))
    return made


async def _answer(server: Server, question: Question) -> Offer:
    until = asyncio.get_running_loop().time() + (ANSWER_S if question.seconds is None else question.seconds)
    invoked = question.invoked
    moment = Moment.of(server, question.uri, question.position)
    moment.typing.unasked = 0
    server.feedback.follow(moment.uri, moment.before, moment.after)
    if quiet := gate.switched(moment.mode, invoked, server.snoozed):
        raise Silence(quiet)
    server.notice(moment.uri, moment.position.line, edited=False)
    if recalled := offer(server, moment, invoked):
        ahead.prefetch(server, moment, recalled)
        return recalled
    if not (invoked or ahead.grows(moment)) and (verdict := gate.asks(moment.facts(), moment.mode)).quiet:
        ahead.warm(server, moment)
        raise Silence(verdict.quiet, verdict=verdict)
    await _linked(moment, until)
    growing = ahead.begin(server, moment, invoked=invoked)
    await _grown(growing, moment, question, until, whole=invoked)
    if server.settings(moment.uri).log == "text":
        log.info("after %r, answered %r", moment.before[-200:], growing.answer.text)
    made = offer(server, moment, invoked, asked=True)
    if made is None and not growing.done:  # the lines that are there are none to show; all of them may be
        await _grown(growing, moment, question, until, whole=True)
        made = offer(server, moment, invoked, asked=True)
    if made is None:
        raise Silence(SkipReason.EMPTY)
    ahead.prefetch(server, moment, made)
    return made


async def _linked(moment: Moment, until: float) -> None:
    """Until the engine, which may be loading, is ready: who rests after a key gets what it was for. Raises Silence."""
    try:
        async with asyncio.timeout_at(until):
            await moment.link.ready()
    except TimeoutError:
        raise Silence(SkipReason.LOADING) from None


async def _grown(growing: Growing, moment: Moment, question: Question, until: float, whole: bool) -> None:
    """Until there is enough of the answer, or the `whole` of it. Raises TimeoutError, and why the engine failed."""
    try:
        async with asyncio.timeout_at(until):
            await _enough(growing, moment, whole)
    except TimeoutError:
        if question.seconds is None:
            moment.typing.let_go()
            moment.doubt()
        raise
    if growing.error:
        moment.typing.memory.remove(growing.answer)
        raise growing.error


async def _enough(growing: Growing, moment: Moment, whole: bool) -> None:
    """Until all of the answer is there, or after a while at least the lines that are whole."""

    def lines() -> bool:
        rest = growing.answer.remainder(moment.before, moment.after)
        return rest is not None and "\n" in rest.text.lstrip()

    await growing.until(lambda: False, None if whole else PATIENCE_S)
    await growing.until(lines)
