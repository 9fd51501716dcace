"""One thread that steps the model for everybody, the most urgent first."""

import logging
import threading
import time
import traceback
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from itertools import zip_longest

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

MAX_WAITING = 256  # tickets that have not ended
SHARE_OF_WAITING = (1.0, 0.75, 0.5)  # by priority: so many may wait in all before one of it is refused
MAX_RUNNING = 32  # requests that share steps
MAX_PROMPT_TOKENS = 32_768  # what the models were trained on
MAX_BEGUN_TOKENS = 4_096  # of prompts that are begun between two steps: that takes time, and somebody may be typing
MAX_FAILED_PROBES = 3  # in a row, after which the engine is taken for broken
TYPING = 0  # the most urgent priority

PROBE = Gap("a", "")
PROBE_OPTIONS = Options(mode="autoregressive", max_tokens=1)

FAILED = "The engine could not finish this gap; its log says why."
ENDING = "The engine is ending; ask again."
BUSY = "The engine has too many requests waiting; ask again in a moment."


Outcome = Fill | Judgement


class Busy(EngineError):
    """Nothing more is taken at the moment."""


class Ticket:
    """A gap or a site handed to the scheduler by `client`; `number` is that of its HTTP request, which counts up.

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
        client: str = "",
        number: int = 0,
    ) -> None:
        self.asked = asked
        self.client = client
        self.number = number
        self.session = session_key(client, asked)
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

    Within a priority clients have equal shares. Of a client that types only the newest request runs: what it typed
    before is out of date. Other tickets of a client go in the order in which they came.

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
        self._failed_probes = 0
        self._began: float | None = None
        self._thread = threading.Thread(target=self._run, name="steps", daemon=True)
        self._thread.start()

    def submit(self, ticket: Ticket) -> None:
        """Raises Busy when the engine ends, or when too many wait; less urgent ones leave room for more urgent ones."""
        with self._changed:
            if self._closing or self.closed:
                raise Busy(ENDING)
            if len(self._tickets) >= SHARE_OF_WAITING[ticket.priority] * MAX_WAITING:
                raise Busy(BUSY)
            self._tickets.append(ticket)
            self._changed.notify()

    def cancel(self, client: str, sessions: Iterable[str | None]) -> None:
        """Cancel the gaps of these sessions of a client, which keep what is cached."""
        named = {name for name in sessions if name}
        with self._changed:
            for ticket in self._tickets:
                if isinstance(ticket.asked, Gap) and ticket.client == client and ticket.asked.session in named:
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
                tickets = in_turn([ticket for ticket in left if ticket.priority == urgent])
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
        for ticket in tickets[:MAX_RUNNING]:
            new = ticket.request is None
            if new and running and (begun > MAX_BEGUN_TOKENS or self._held > self.sessions.most_bytes):
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
        """Raises EngineError for a prompt that is too long, before its session is touched."""
        ticket.waited_ms = 1e3 * (time.perf_counter() - ticket.submitted)
        asked, options = ticket.asked, ticket.options
        opening = self._engine.prompt(asked)
        if (tokens := len(opening.tokens)) > MAX_PROMPT_TOKENS:
            raise EngineError(f"The prompt holds {tokens} tokens; at most {MAX_PROMPT_TOKENS} are taken.")
        session = self.sessions.take(ticket.session)
        if isinstance(asked, Gap):
            request: Request = self._engine.request(asked, options, session, opening=opening)
            if request.set_aside:
                self.sessions.keep_unnamed(request.set_aside)
        else:
            request = self._engine.site_request(asked, options, session, opening)
        request.borrow(self.sessions)
        ticket.request = request
        return request

    def _step(self, running: dict[Request, Ticket]) -> None:
        """One step for all; where that raises, one for each alone, so that a request that raises fails alone."""
        if not running:
            return
        error = self._stepped(running)
        if error is None:
            return
        if out_of_memory(error):
            self.sessions.clear()
        if len(running) == 1:
            failed = dict.fromkeys(running.values(), error)
        else:
            _logged(error)
            failed = {}
            for request, ticket in running.items():
                again = error if request.half_taken else self._stepped({request: ticket})
                if again is not None:
                    failed[ticket] = again
        self._probe()
        for ticket, error in failed.items():
            self._fail(ticket, error)

    def _stepped(self, running: dict[Request, Ticket]) -> Exception | None:
        """One step; returns what it raised."""
        began = self._began = time.monotonic()
        try:
            stepped = self._engine.step(list(running))
        except Exception as error:
            return error
        finally:
            self._began = None
        took = time.monotonic() - began
        self.usual_step_s = took if self.usual_step_s is None else 0.95 * self.usual_step_s + 0.05 * took
        for request in stepped:
            ticket = running[request]
            if request.done:
                request.cost.queue_ms += ticket.waited_ms
                self._end(ticket, request.outcome())
            elif request.cost.forwards:
                ticket.on_step(request)
        return None

    def _fail(self, ticket: Ticket, error: Exception) -> None:
        """End a ticket whose step raised: what its session holds is not to be trusted."""
        sentence = _logged(error)
        if ticket.request:
            ticket.request.close()
            ticket.request = None
        self._end(ticket, sentence)

    def _probe(self) -> None:
        """After a failure: whether the model still answers at all. A request that raises says nothing of others."""
        self._began = time.monotonic()
        try:
            self._engine.fill(PROBE, PROBE_OPTIONS)
            self._failed_probes = 0
        except Exception as error:
            _logged(error)
            self._failed_probes += 1
        finally:
            self._began = None
        if self._failed_probes >= MAX_FAILED_PROBES:
            log.error("The model has failed %s times in a row: this engine ends", self._failed_probes)
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


def session_key(client: str, asked: Gap | Site) -> Hashable | None:
    """Under what a session is kept: the name is the client's own. All sites of a client have one session, as the next
    edit is most likely judged with the same files. None for a gap that names no session.
    """
    if isinstance(asked, Site):
        return ("sites", client)
    return ("gap", client, asked.session) if asked.session else None


def in_turn(tickets: Sequence[Ticket]) -> list[Ticket]:
    """Tickets of one priority, one of each client in turn; of a client that types its newest request alone."""
    clients: dict[str, list[Ticket]] = {}
    for ticket in tickets:
        clients.setdefault(ticket.client, []).append(ticket)
    for client, own in clients.items():
        if own[0].priority == TYPING:
            newest = max(ticket.number for ticket in own)
            clients[client] = [ticket for ticket in own if ticket.number == newest]
    return [ticket for each in zip_longest(*clients.values()) for ticket in each if ticket]


def _logged(error: Exception) -> str:
    """The sentence for a failure. Where it happened is logged; not its message, which may hold the request's text."""
    log.error("%s\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))
    return MEMORY if out_of_memory(error) else FAILED
