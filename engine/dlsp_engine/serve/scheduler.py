"""The scheduler: one thread that runs the model's steps for all clients, the most urgent requests first."""

import logging
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import replace

from dlsp_engine.backend import Interrupted, interruptible
from dlsp_engine.decode.answer import Fill
from dlsp_engine.decode.session import Session
from dlsp_engine.engine import Engine
from dlsp_engine.errors import MEMORY, EngineError, out_of_memory
from dlsp_engine.options import MAX_CONTEXT_TOKENS, Options
from dlsp_engine.request import Request
from dlsp_engine.rewrite import Rewritten
from dlsp_engine.serve.memory import return_freed_memory
from dlsp_engine.serve.metrics import Metrics
from dlsp_engine.serve.sessions import MAX_KEPT_BYTES, Sessions
from dlsp_engine.serve.turns import Priorities
from dlsp_engine.site import Judgement, Site
from dlsp_engine.text.chat import Generation
from dlsp_engine.text.prompt import Gap
from dlsp_engine.text.rewrite import Rewrite

log = logging.getLogger(__name__)

MAX_WAITING = 256  # tickets that have not ended, at most
SHARE_OF_WAITING = (1.0, 0.75, 0.5)  # by priority: the share of MAX_WAITING at which new tickets are refused
MAX_RUNNING = 32  # requests that share a step, at most
MAX_PROMPT_TOKENS = MAX_CONTEXT_TOKENS
MAX_BEGUN_TOKENS = 4_096  # of prompts that are begun between two steps: it takes time, and somebody may be typing
RUNNING_SHARE = 0.75  # of the bytes of keys and values, for requests; the rest is always there for kept sessions
MAX_FAILED_PROBES = 3  # in a row, after which the engine counts as broken
TYPING = 0  # the most urgent priority
TYPING_LASTS_S = 10.0  # after a request of a client that types: the next one must not wait for a long step

RETURN_S = 10.0  # at most so often, freed memory is returned to the operating system, which takes some milliseconds
MAX_LEFT = 3  # steps of a priority that are left in a row: the next one runs to its end, whoever comes

PROBE = Gap("a", "")

FAILED = "The engine could not finish this gap; its log says why."
ENDING = "The engine is ending; ask again."
BUSY = "The engine has too many requests waiting; ask again in a moment."


Outcome = Fill | Judgement | Rewritten


class Busy(EngineError):
    """No more tickets are accepted at the moment."""


class Ticket:
    """A gap, a site, a generation or a rewrite that `client` asks for. `number` is that of its HTTP request; later
    requests have larger numbers.

    `on_step` and `on_end` are called from the scheduler's thread. `on_end` gets the outcome, or a sentence that says
    why there is none.
    """

    def __init__(
        self,
        asked: Gap | Site | Generation | Rewrite,
        options: Options,
        priority: int,
        on_step: Callable[[Request], None],
        on_end: Callable[[Outcome | str], None],
        client: str = "",
        number: int = 0,
        keeps_session: bool = True,
    ) -> None:
        self.asked = asked
        self.client = client
        self.number = number
        self.session = session_key(client, asked) if keeps_session else None
        self.options = options
        self.priority = priority
        self.on_step = on_step
        self.on_end = on_end
        self.cancelled = threading.Event()
        self.submitted = time.perf_counter()
        self.waited_ms = 0.0
        self.request: Request | None = None


class Scheduler:
    """Runs tickets in its own thread. Those of the most urgent priority share each step; the others wait, even if they
    have begun, but a priority that has waited for OVERDUE_S gets a step, so that everything ends.

    Within a priority, clients have equal shares (`Turns`). At the priority of typing only a client's newest request
    runs, since its earlier ones are out of date. At others a client's tickets run in the order in which they came.
    While somebody types, steps without a request of that priority are short. A step is left when a more urgent ticket
    comes, and run again later, but of a priority at most MAX_LEFT in a row.

    `closed` is set once the thread has ended. Once `broken` is set, the process has to end.
    """

    def __init__(self, engine: Engine, kv_bytes: int = MAX_KEPT_BYTES) -> None:
        """`kv_bytes`: how many bytes the keys and values of kept sessions and of requests may take together."""
        self.engine = engine
        self.sessions = Sessions(kv_bytes)
        self.metrics = Metrics()
        self.closed = False
        self.broken = False
        self.usual_step_s: float | None = None
        self._tickets: list[Ticket] = []
        self._restored: deque[Session] = deque()
        self._turns = Priorities(len(SHARE_OF_WAITING), newest_only=TYPING)
        # The most urgent priority of tickets that came since those for the step in progress were chosen.
        self._came: int | None = None
        self._left = [0] * len(SHARE_OF_WAITING)  # by priority: how many of its last steps were left before their end
        self._typed: float | None = None  # when a request at the priority of typing came last
        self._changed = threading.Condition()
        self._closing = False
        self._failed_probes = 0
        self._returned_at = time.monotonic()  # freed memory
        self._began: float | None = None
        self._thread = threading.Thread(target=self._run, name="steps", daemon=True)
        self._thread.start()

    def submit(self, ticket: Ticket) -> None:
        """Accept a ticket. Raises Busy if the engine is ending, or if too many tickets wait; for less urgent priorities
        the limit is lower.
        """
        with self._changed:
            if self._closing or self.closed:
                raise Busy(ENDING)
            if len(self._tickets) >= SHARE_OF_WAITING[ticket.priority] * MAX_WAITING:
                raise Busy(BUSY)
            self._tickets.append(ticket)
            self._came = ticket.priority if self._came is None else min(self._came, ticket.priority)
            if ticket.priority == TYPING:
                self._typed = time.monotonic()
            self._changed.notify()

    def cancel(self, client: str, sessions: Iterable[str | None], kind: type[Gap] | type[Generation] = Gap) -> None:
        """Cancel a client's gaps or generations in these sessions. The sessions keep what is in their KV caches."""
        named = {name for name in sessions if name}
        with self._changed:
            for ticket in self._tickets:
                if isinstance(ticket.asked, kind) and ticket.client == client and ticket.asked.session in named:
                    ticket.cancelled.set()

    def restore(self, session: Session) -> None:
        """Keep a session of an earlier engine for requests to come (`Sessions.restore`). May be called from any
        thread.
        """
        self._restored.append(session)

    def close(self) -> None:
        """End the thread after the step in progress, and every ticket with a sentence. Returns at once."""
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
        """Seconds that the step in progress has been running; 0 between steps."""
        began = self._began
        return time.monotonic() - began if began is not None else 0.0

    def _run(self) -> None:
        try:
            while self._turn():
                pass
        except Exception as error:  # not of the model: `on_step` and `on_end` may raise too
            _logged(error)
        finally:
            with self._changed:
                self.closed, self.broken = True, self.broken or not self._closing
            for ticket in list(self._tickets):
                with suppress(Exception):  # if one `on_end` raises, the others are still called
                    self._end(ticket, ENDING)

    def _turn(self) -> bool:
        """Run one step. Returns False when closing. Holds no references to its tickets while it waits for the next."""
        tickets = self._next()
        self._step(self._started(tickets))
        if time.monotonic() > self._returned_at + RETURN_S:
            return_freed_memory()  # glibc keeps the holes between what caches keep, and they become more
            self._returned_at = time.monotonic()
        return bool(tickets)

    def _next(self) -> list[Ticket]:
        """Return the tickets for the next step, after waiting for the first; an empty list when closing."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._tickets or self._closing)
                if self._closing:
                    return []
                self._came = None
                cancelled = [ticket for ticket in self._tickets if ticket.cancelled.is_set()]
                left = [ticket for ticket in self._tickets if ticket not in cancelled]
                tickets = self._turns.next(left)
            for ticket in cancelled:
                self._end(ticket, "Cancelled.")
            if tickets:
                return tickets

    def _started(self, tickets: list[Ticket]) -> dict[Request, Ticket]:
        """Return the requests that may share the next step, and begin those that are new. A request that cannot be
        begun ends here, without harm to others.

        While all requests that have begun, of any priority, hold more than RUNNING_SHARE of the bytes that keys and
        values may take, no new one is begun to share a step with others. Kept sessions get what requests leave, and at
        least the rest of the bytes.
        """
        while self._restored:
            self.sessions.restore(self._restored.popleft())
        most_bytes = self.sessions.most_bytes
        running: dict[Request, Ticket] = {}
        begun = 0
        for ticket in tickets[:MAX_RUNNING]:
            new = ticket.request is None
            if new and running and (begun > MAX_BEGUN_TOKENS or self._held > RUNNING_SHARE * most_bytes):
                break
            try:
                request = ticket.request or self._start(ticket)
            except Exception as error:
                self._end(ticket, str(error) if isinstance(error, EngineError) else _logged(error))
                break
            running[request] = ticket
            begun += request.cost.prompt_tokens if new else 0
        if begun:
            self.sessions.shrink(most_bytes - int(min(self._held, RUNNING_SHARE * most_bytes)))
        return running

    @property
    def _held(self) -> int:
        """Bytes of keys and values of all requests that have begun and not ended."""
        return sum(ticket.request.bytes for ticket in list(self._tickets) if ticket.request)

    def _start(self, ticket: Ticket) -> Request:
        """Begin a ticket's request. Raises EngineError for a prompt that is too long, or a mode that the checkpoint
        lacks, before its session is taken.
        """
        ticket.waited_ms = 1e3 * (time.perf_counter() - ticket.submitted)
        asked, options = ticket.asked, ticket.options
        opening = self.engine.prompt(asked)
        context = min(MAX_CONTEXT_TOKENS, self.engine.model.shape.context or MAX_CONTEXT_TOKENS)
        bounded = context < MAX_CONTEXT_TOKENS or isinstance(asked, Generation | Rewrite)
        most = min(MAX_PROMPT_TOKENS, context) - int(bounded)
        self.engine.model.shape.convention.demand(options.mode)
        tokens = len(opening.tokens) + len(opening.behind)
        if isinstance(asked, Rewrite):  # which is read once more behind the prompt
            tokens += len(asked.rest(self.engine.tokenizer))
        if tokens > most:
            raise EngineError(f"The prompt holds {tokens} tokens; at most {most} are taken.")
        if context < MAX_CONTEXT_TOKENS:
            options = replace(options, max_tokens=min(options.max_tokens, context - tokens))
        session = self.sessions.take(ticket.session)
        if isinstance(asked, Site):
            request: Request = self.engine.site_request(asked, options, session, opening)
        else:
            if isinstance(asked, Gap):
                writing = self.engine.request(asked, options, session, opening=opening)
            elif isinstance(asked, Rewrite):
                writing = self.engine.rewrite_request(asked, options, session, opening)
            else:
                fitting = replace(options, max_tokens=min(options.max_tokens, MAX_CONTEXT_TOKENS - tokens))
                writing = self.engine.generation_request(asked, fitting, session, opening)
            if writing.set_aside:
                self.sessions.keep_unnamed(writing.set_aside)
            request = writing
        request.borrow(self.sessions)
        ticket.request = request
        return request

    def _step(self, running: dict[Request, Ticket]) -> None:
        """Run one step for all. If it raises, run one for each request alone, so that only those that raise fail."""
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
        """Run one step. Returns the exception that it raised, or None."""
        began = self._began = time.monotonic()
        types = self._typed is not None and began < self._typed + TYPING_LASTS_S
        short = types and all(ticket.priority != TYPING for ticket in running.values())
        rows = {request: request.rows_run for request in running}
        priority = min(ticket.priority for ticket in running.values())
        may_leave = self._left[priority] < MAX_LEFT
        try:
            with interruptible(lambda: may_leave and self._came is not None and self._came < priority):
                stepped = self.engine.step(list(running), short=short)
        except Interrupted:
            self._left[priority] += 1
            return None
        except Exception as error:
            return error
        finally:
            self._began = None
        self._left[priority] = 0
        took = time.monotonic() - began
        self.usual_step_s = took if self.usual_step_s is None else 0.95 * self.usual_step_s + 0.05 * took
        for request in stepped:
            ticket = running[request]
            self._turns.charge(ticket, request.rows_run - rows[request])
            if request.done:
                request.cost.queue_ms += ticket.waited_ms
                self._end(ticket, request.outcome())
            elif request.cost.forwards:
                ticket.on_step(request)
        return None

    def _fail(self, ticket: Ticket, error: Exception) -> None:
        """End a ticket whose step raised, and drop its session, whose KV cache may be wrong."""
        sentence = str(error) if isinstance(error, EngineError) else _logged(error)
        if ticket.request:
            ticket.request.close()
            ticket.request = None
        self._end(ticket, sentence)

    def _probe(self) -> None:
        """After a failure, test whether the model still works, since one failed request says nothing about others. Sets
        `broken` after MAX_FAILED_PROBES failures in a row.
        """
        self._began = time.monotonic()
        try:
            mode = self.engine.model.shape.convention.modes[0]
            self.engine.fill(PROBE, Options(mode=mode, max_tokens=1))
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
        """End a ticket: keep its session, count it, and report the outcome or the reason for there being none."""
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


def session_key(client: str, asked: Gap | Site | Generation | Rewrite) -> Hashable | None:
    """Return the key under which a ticket's session is kept; None for a request that names no session. Session names
    are private to a client. All sites of a client have one session, as its next edit is most likely judged with the
    same files; so have its windows.
    """
    if isinstance(asked, Rewrite):
        return ("windows", client)
    if isinstance(asked, Site):
        return ("sites", client)
    kind = "generation" if isinstance(asked, Generation) else "gap"
    return (kind, client, asked.session) if asked.session else None


def _logged(error: Exception) -> str:
    """Log where an error happened and return the sentence for the user. The error's message is not logged, as it may
    contain text from the request.
    """
    log.error("%s\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))
    return MEMORY if out_of_memory(error) else FAILED
