"""The answer to a request as a stream: one JSON object per line, as `docs/engine-http.md` describes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict, replace
from itertools import count
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from dlsp_engine.decode.answer import Cost, Fill
from dlsp_engine.request import GapRequest, Request
from dlsp_engine.rewrite import Rewritten
from dlsp_engine.serve.requests import Parsed
from dlsp_engine.serve.scheduler import Busy, Outcome, Scheduler, Ticket
from dlsp_engine.site import Likelihood, Site
from dlsp_engine.text.chat import Generation
from dlsp_engine.text.prompt import Gap
from dlsp_engine.text.rewrite import Rewrite

# Events that are sent while an answer grows.
PROGRESS = ("canvas", "text")

# While this many events wait for the client to read them, no such events are added.
MAX_UNREAD_EVENTS = 256
_numbers = count(1)

# A blank line is sent after this time without an event, so that a client that reads nothing knows the engine hangs.
HEARTBEAT_S = 0.5


class Stream(StreamingResponse):
    """The streamed response to one request. What it asks for is submitted to the scheduler on construction, which may
    raise Busy.

    Tickets that have not ended when the response ends, for example because the connection was closed, are cancelled.
    """

    def __init__(self, wanted: Parsed[Any], scheduler: Scheduler, ended: Callable[[], None]) -> None:
        """`ended` is called when the response has ended, for whatever reason."""
        super().__init__(self._lines(), media_type="application/x-ndjson")
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._tickets: list[Ticket] = []
        self._number = next(_numbers)
        try:
            # The newest request gets the session: an older one that still uses it is cancelled to free its KV cache.
            named = [each for each in wanted.asked if isinstance(each, Gap | Generation)]
            if named:
                scheduler.cancel(wanted.client, [each.session for each in named], type(named[0]))
            for number, each in enumerate(wanted.asked):
                for answer in range(wanted.answers):
                    ticket = self._ticket(number, answer, each, wanted)
                    scheduler.submit(ticket)
                    self._tickets.append(ticket)
        except Busy:
            self._cancel()
            raise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()
            self._cancel()

    async def _lines(self) -> AsyncIterator[bytes]:
        left = len(self._tickets)
        while left:
            try:
                event = await asyncio.wait_for(self._events.get(), HEARTBEAT_S)
            except TimeoutError:
                yield b"\n"
                continue
            yield _line(event)
            if event["event"] == "error":
                return
            left -= event["event"] not in PROGRESS
        yield _line({"event": "done"})

    def _cancel(self) -> None:
        for ticket in self._tickets:
            ticket.cancelled.set()
        self._tickets = []  # each ticket refers to this stream

    def _ticket(
        self, number: int, answer: int, asked: Gap | Site | Generation | Rewrite, wanted: Parsed[Any]
    ) -> Ticket:
        sent = 0  # characters of a generation

        def put(event: dict[str, Any]) -> None:
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._events.put_nowait, event)

        def on_step(request: Request) -> None:
            nonlocal sent
            if not isinstance(request, GapRequest) or self._events.qsize() >= MAX_UNREAD_EVENTS:
                return
            if isinstance(asked, Gap):
                put(_canvas(number, answer, request))
            else:
                settled = request.answer.settled
                put({"event": "text", "answer": answer, "text": settled[sent:], "canvas": request.state()[1]})
                sent = len(settled)

        def on_end(outcome: Outcome | str) -> None:
            event = ended(number, answer, outcome)
            if isinstance(asked, Generation) and event.pop("gap", None) is not None:
                event["event"] = "generation"
            put(event)

        options = replace(wanted.options, seed=wanted.options.seed + answer)
        keeps_session = answer == 0  # the others copy the prompt's rows from the first
        return Ticket(asked, options, wanted.priority, on_step, on_end, wanted.client, self._number, keeps_session)


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event, ensure_ascii=False).encode() + b"\n"


def _canvas(number: int, answer: int, request: GapRequest) -> dict[str, Any]:
    committed, canvas = request.state()
    event = {"event": "canvas", "gap": number, "answer": answer, "committed": committed, "canvas": canvas}
    return event | {"confidence": _confidence(request.answer.confidence)}


def ended(number: int, answer: int, outcome: Outcome | str) -> dict[str, Any]:
    """Return the last event of gap, site or window `number`."""
    if isinstance(outcome, str):
        return {"event": "error", "error": outcome}
    if isinstance(outcome, Fill):
        event = {"event": "fill", "gap": number, "answer": answer, "text": outcome.text, "reason": outcome.reason}
        return event | {"cost": _cost(outcome.cost), "confidence": _confidence(outcome.confidence)}
    if isinstance(outcome, Rewritten):
        found = [asdict(change) | {"log_p": round(change.log_p, 3)} for change in outcome.changes]
        event = {"event": "rewrite", "window": number, "changes": found, "reason": outcome.reason}
        doubt = {"doubt": round(outcome.doubt, 4), "doubted": outcome.doubted}
        return event | doubt | {"cost": _cost(outcome.cost)}
    proposal = None
    if outcome.proposal:
        fill, likely = outcome.proposal
        proposal = {"text": fill.text, "reason": fill.reason} | _likelihood(likely)
    return {
        "event": "site",
        "site": number,
        "text": _likelihood(outcome.text),
        "candidates": [_likelihood(each) for each in outcome.candidates],
        "proposal": proposal,
        "cost": _cost(outcome.cost),
    }


def _likelihood(likely: Likelihood) -> dict[str, float | None]:
    without = None if likely.without is None else round(likely.without, 4)
    return {"with": round(likely.given, 4), "without": without, "tokens": likely.tokens}


def _cost(cost: Cost) -> dict[str, float]:
    return {name: round(value, 2) for name, value in asdict(cost).items()} | {"tau": round(cost.tau, 3)}


def _confidence(pairs: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    return [(width, round(log_p, 3)) for width, log_p in pairs]
