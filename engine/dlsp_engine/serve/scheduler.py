"""One thread that steps the model for everybody, the most urgent first."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable

from dlsp_engine.decode.session import Session
from dlsp_engine.engine import Engine, Fill, finished
from dlsp_engine.job import Job
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap

log = logging.getLogger(__name__)

MOST_SESSIONS = 8


class Ticket:
    """A gap handed to the scheduler. `on_step` and `on_end` are called from the scheduler's thread."""

    def __init__(
        self,
        gap: Gap,
        options: Options,
        priority: int,
        on_step: Callable[[Job], None],
        on_end: Callable[[Fill | None], None],
    ) -> None:
        self.gap = gap
        self.options = options
        self.priority = priority
        self.on_step = on_step
        self.on_end = on_end
        self.cancelled = threading.Event()
        self.job: Job | None = None


class Scheduler:
    """Tickets of the most urgent priority share each step; the others wait, and may be put off between two steps."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tickets: list[Ticket] = []
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="steps", daemon=True)
        self._thread.start()

    def submit(self, ticket: Ticket) -> None:
        with self._changed:
            self._tickets.append(ticket)
            self._changed.notify()

    def close(self) -> None:
        """Ends the thread after the step in progress."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout=10)

    @property
    def busy(self) -> bool:
        return bool(self._tickets)

    def _run(self) -> None:
        while tickets := self._next():
            try:
                self._step(tickets)
            except Exception:
                log.exception("a step failed")
                for ticket in tickets:
                    self._end(ticket, None)

    def _next(self) -> list[Ticket]:
        """The tickets of the next step, or none when closing; waits for the first."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._tickets or self._closing)
                if self._closing:
                    return []
                cancelled = [ticket for ticket in self._tickets if ticket.cancelled.is_set()]
                urgent = min(ticket.priority for ticket in self._tickets)
                tickets = [t for t in self._tickets if t.priority == urgent and t not in cancelled]
            for ticket in cancelled:
                self._end(ticket, None)
            if tickets:
                return tickets

    def _step(self, tickets: list[Ticket]) -> None:
        running = {ticket.job or self._start(ticket): ticket for ticket in tickets}
        for job in self._engine.step(list(running)):
            ticket = running[job]
            if job.done:
                self._end(ticket, finished(job))
            elif job.cost.forwards:
                ticket.on_step(job)

    def _start(self, ticket: Ticket) -> Job:
        session = self._sessions.pop(ticket.gap.session, None) if ticket.gap.session else None
        ticket.job = self._engine.job(ticket.gap, ticket.options, session)
        return ticket.job

    def _end(self, ticket: Ticket, fill: Fill | None) -> None:
        with self._changed:
            self._tickets.remove(ticket)
        if ticket.gap.session and ticket.job:
            self._sessions[ticket.gap.session] = ticket.job.session
            while len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
        ticket.on_end(fill)
