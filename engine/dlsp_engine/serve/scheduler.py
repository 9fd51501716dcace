"""One thread that steps the model for everybody, the most urgent first."""

import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress

from dlsp_engine.decode.answer import Fill
from dlsp_engine.engine import Engine
from dlsp_engine.errors import MEMORY, EngineError, out_of_memory
from dlsp_engine.options import Options
from dlsp_engine.request import Request
from dlsp_engine.serve.metrics import Metrics
from dlsp_engine.serve.sessions import Sessions
from dlsp_engine.site import Judgement, Site
from dlsp_engine.text.prompt import Gap

log = logging.getLogger(__name__)

MOST_WAITING = 256
MOST_RUNNING = 32
MOST_PROMPT = 32_768
"""Tokens: what the models were trained on."""
MOST_BEGUN = 4_096
"""Tokens of prompts that are made between two steps: that takes time too, and somebody may be typing."""
MOST_FAILURES = 3
"""Failed steps in a row after which the engine is taken for broken."""

FAILED = "The engine could not finish this gap; its log says why."
ENDING = "The engine is ending; ask again."
BUSY = "The engine has too many requests waiting; ask again in a moment."

SITES = "sites"
"""Under this name the prompt of the last site is kept: the next edit is most likely seen with the same files."""

Outcome = Fill | Judgement


class Busy(EngineError):
    """Nothing more is taken at the moment."""


class Ticket:
    """A gap or a site handed to the scheduler.

    `on_step` and `on_end` are called from the scheduler's thread; `on_end` gets the outcome, or a sentence why there is
    none.
    """

    def __init__(
        self,
        asked: Gap | Site,
        options: Options,
        priority: int,
        on_step: Callable[[Request], None],
        on_end: Callable[[Outcome | str], None],
    ) -> None:
        self.asked = asked
        self.session = asked.session if isinstance(asked, Gap) else SITES
        self.options = options
        self.priority = priority
        self.on_step = on_step
        self.on_end = on_end
        self.cancelled = threading.Event()
        self.submitted = time.perf_counter()
        self.waited_ms = 0.0
        self.request: Request | None = None


class Scheduler:
    """Tickets of the most urgent priority share each step; the others wait, also those that were begun.

    `closed` once its thread has ended; once it is `broken` the process is to end.
    """

    def __init__(self, engine: Engine) -> None:
        self.sessions = Sessions()
        self.metrics = Metrics()
        self.closed = False
        self.broken = False
        self.usual_step_s: float | None = None
        self._engine = engine
        self._tickets: list[Ticket] = []
        self._changed = threading.Condition()
        self._closing = False
        self._failures = 0
        self._began: float | None = None
        self._thread = threading.Thread(target=self._run, name="steps", daemon=True)
        self._thread.start()

    def submit(self, ticket: Ticket) -> None:
        """Raises Busy when too many wait, EngineError when the engine ends."""
        with self._changed:
            if self._closing or self.closed:
                raise Busy(ENDING)
            if len(self._tickets) >= MOST_WAITING:
                raise Busy(BUSY)
            self._tickets.append(ticket)
            self._changed.notify()

    def cancel(self, sessions: Iterable[str | None]) -> None:
        """Cancel the gaps of these sessions, which keep what is cached."""
        named = {name for name in sessions if name}
        with self._changed:
            for ticket in self._tickets:
                if isinstance(ticket.asked, Gap) and ticket.session in named:
                    ticket.cancelled.set()

    def close(self) -> None:
        """End the thread after the step in progress, and all tickets with a sentence. Returns at once."""
        with self._changed:
            self._closing = True
            self._changed.notify()

    def join(self, timeout: float = 10) -> None:
        self._thread.join(timeout)

    @property
    def waiting(self) -> int:
        """Tickets that have not ended."""
        return len(self._tickets)

    @property
    def busy(self) -> bool:
        return bool(self._tickets)

    @property
    def stepping_s(self) -> float:
        """How long the step in progress has been running; 0 between steps."""
        began = self._began
        return time.monotonic() - began if began is not None else 0.0

    def _run(self) -> None:
        try:
            while self._turn():
                pass
        except Exception as error:  # outside of the model: whoever is told a step, or how a gap ended, may fail too
            _logged(error)
        finally:
            with self._changed:
                self.closed, self.broken = True, self.broken or not self._closing
            for ticket in list(self._tickets):
                with suppress(Exception):  # one who cannot be told keeps nobody from it
                    self._end(ticket, ENDING)

    def _turn(self) -> bool:
        """One step; False when closing. Nothing of it is held while the next one is waited for."""
        tickets = self._next()
        self._step(self._started(tickets))
        return bool(tickets)

    def _next(self) -> list[Ticket]:
        """The tickets of the next step, or none when closing; waits for the first."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._tickets or self._closing)
                if self._closing:
                    return []
                cancelled = [ticket for ticket in self._tickets if ticket.cancelled.is_set()]
                left = [ticket for ticket in self._tickets if ticket not in cancelled]
                urgent = min((ticket.priority for ticket in left), default=0)
                tickets = [ticket for ticket in left if ticket.priority == urgent]
            for ticket in cancelled:
                self._end(ticket, "Cancelled.")
            if tickets:
                return tickets

    def _started(self, tickets: list[Ticket]) -> dict[Request, Ticket]:
        """Requests that may share the next step; a request that cannot be begun ends here, and harms no other.

        While those begun, of any priority, hold more than may be kept of sessions, none is begun beside another.
        """
        running: dict[Request, Ticket] = {}
        begun = 0
        for ticket in tickets[:MOST_RUNNING]:
            new = ticket.request is None
            if new and running and (begun > MOST_BEGUN or self._held > self.sessions.most_bytes):
                break
            try:
                request = ticket.request or self._start(ticket)
            except Exception as error:
                self._end(ticket, str(error) if isinstance(error, EngineError) else _logged(error))
                break
            running[request] = ticket
            begun += request.cost.prompt_tokens if new else 0
        return running

    @property
    def _held(self) -> int:
        """Bytes of all that were begun and have not ended."""
        return sum(ticket.request.bytes for ticket in list(self._tickets) if ticket.request)

    def _start(self, ticket: Ticket) -> Request:
        ticket.waited_ms = 1e3 * (time.perf_counter() - ticket.submitted)
        asked, options, session = ticket.asked, ticket.options, self.sessions.take(ticket.session)
        if isinstance(asked, Gap):
            request: Request = self._engine.request(asked, options, session)
            if request.set_aside:
                self.sessions.keep_unnamed(request.set_aside)
        else:
            request = self._engine.site_request(asked, options, session)
        request.borrow(self.sessions)
        if (tokens := request.cost.prompt_tokens) > MOST_PROMPT:
            raise EngineError(f"The prompt holds {tokens} tokens; at most {MOST_PROMPT} are taken.")
        ticket.request = request
        return request

    def _step(self, running: dict[Request, Ticket]) -> None:
        if not running:
            return
        began = self._began = time.monotonic()
        try:
            stepped = self._engine.step(list(running))
        except Exception as error:
            self._fail(list(running.values()), error)
            return
        finally:
            self._began = None
        self._failures = 0
        took = time.monotonic() - began
        self.usual_step_s = took if self.usual_step_s is None else 0.95 * self.usual_step_s + 0.05 * took
        for request in stepped:
            ticket = running[request]
            if request.done:
                request.cost.queue_ms += ticket.waited_ms
                self._end(ticket, request.outcome())
            elif request.cost.forwards:
                ticket.on_step(request)

    def _fail(self, tickets: list[Ticket], error: Exception) -> None:
        """A step raised: what its sessions hold is not to be trusted."""
        sentence = _logged(error)
        if sentence == MEMORY:
            self.sessions.clear()
        for ticket in tickets:
            if ticket.request:
                ticket.request.close()
                ticket.request = None
            self._end(ticket, sentence)
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            log.error("%s steps in a row have failed: this engine ends", self._failures)
            self.broken = True

    def _end(self, ticket: Ticket, outcome: Outcome | str) -> None:
        with self._changed:
            self._tickets.remove(ticket)
        if ticket.request:
            self.sessions.keep(ticket.session, ticket.request.session)
            ticket.request.close()
            ticket.request = None  # the client may hold the ticket for long
        if not isinstance(outcome, str):
            self.metrics.ended(outcome.reason, outcome.cost)
        else:
            self.metrics.ended("cancelled" if ticket.cancelled.is_set() else "failed", None)
        ticket.on_end(outcome)


def _logged(error: Exception) -> str:
    """The sentence for a failure. Where it happened is logged; not its message, which may hold the request's text."""
    log.error("%s\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))
    return MEMORY if out_of_memory(error) else FAILED
