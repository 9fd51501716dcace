"""Which tickets run next: those of one priority, of clients in turn, the one that had the fewest rows first."""

import time
from collections.abc import Sequence
from itertools import zip_longest
from typing import Protocol, TypeVar

# Without a step, after which a priority gets one while more urgent tickets wait; since it came, after which an older
# request runs beside its client's newest.
OVERDUE_S = 2.0


class Queued(Protocol):
    """What `Priorities` needs to know of a ticket."""

    client: str
    number: int  # that of its HTTP request; later requests have larger numbers
    priority: int  # 0 is the most urgent


AnyTicket = TypeVar("AnyTicket", bound=Queued)


class Turns:
    """Gives clients equal shares of the rows of steps, however many tickets each has and however long its prompts are.

    A client that comes is taken to have had as many rows as the one that had the fewest: nobody saves up rows while
    asking for nothing, and nobody has to wait for what others had before.
    """

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._came: dict[tuple[str, int], float] = {}  # when each request was first seen, where only the newest run

    def order(self, tickets: Sequence[AnyTicket], newest_only: bool) -> list[AnyTicket]:
        """Return the tickets in the order in which they run: one of each client in turn. With `newest_only`, only those
        of each client's newest request are returned, and of those that came more than OVERDUE_S ago: who asks for
        several documents at once, again and again, is answered for all of them.
        """
        clients: dict[str, list[AnyTicket]] = {}
        for ticket in tickets:
            clients.setdefault(ticket.client, []).append(ticket)
        if newest_only:
            now = time.monotonic()
            self._came = {key: self._came.get(key, now) for key in ((each.client, each.number) for each in tickets)}
            for client, own in clients.items():
                newest = max(ticket.number for ticket in own)
                late = now - OVERDUE_S
                overdue = [one for one in own if one.number < newest and self._came[client, one.number] < late]
                clients[client] = [*(one for one in own if one.number == newest), *overdue]
        least = min((had for client, had in self._rows.items() if client in clients), default=0)
        self._rows = {client: self._rows.get(client, least) for client in clients}
        in_turn = sorted(clients, key=lambda client: self._rows[client])
        return [ticket for each in zip_longest(*(clients[client] for client in in_turn)) for ticket in each if ticket]

    def charge(self, client: str, rows: int) -> None:
        """Count `rows` rows of a step for a client that has tickets."""
        if client in self._rows:
            self._rows[client] += rows


class Priorities:
    """Gives each step to one priority: the most urgent that has tickets, unless another has waited for OVERDUE_S.

    Of the priority `newest_only`, only the tickets of each client's newest request run, and those that are overdue.
    """

    def __init__(self, count: int, newest_only: int) -> None:
        self._newest_only = newest_only
        self._turns = [Turns() for _ in range(count)]
        self._stepped_at: dict[int, float] = {}  # of each priority with tickets: when it had a step, or when they came

    def next(self, tickets: Sequence[AnyTicket]) -> list[AnyTicket]:
        """Return the tickets of the priority that has the next step, in the order in which they run."""
        now, there = time.monotonic(), {ticket.priority for ticket in tickets}
        if not there:
            return []
        self._stepped_at = {priority: self._stepped_at.get(priority, now) for priority in there}
        longest = min(there, key=self._stepped_at.__getitem__)
        chosen = longest if now > self._stepped_at[longest] + OVERDUE_S else min(there)
        self._stepped_at[chosen] = now
        own = [ticket for ticket in tickets if ticket.priority == chosen]
        return self._turns[chosen].order(own, newest_only=chosen == self._newest_only)

    def charge(self, ticket: Queued, rows: int) -> None:
        """Count `rows` rows of a step for the ticket's client."""
        self._turns[ticket.priority].charge(ticket.client, rows)
