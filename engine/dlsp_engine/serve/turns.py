"""The order in which tickets of one priority run: clients in turn, the one that had the fewest rows first."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Protocol, TypeVar


class Queued(Protocol):
    """What `Turns` needs to know of a ticket."""

    client: str
    number: int  # that of its HTTP request; later requests have larger numbers


AnyTicket = TypeVar("AnyTicket", bound=Queued)


class Turns:
    """Gives clients equal shares of the rows of steps, however many tickets each has and however long its prompts are.

    A client that comes is taken to have had as many rows as the one that had the fewest: nobody saves up rows while
    asking for nothing, and nobody has to wait for what others had before.
    """

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}

    def order(self, tickets: Sequence[AnyTicket], newest_only: bool) -> list[AnyTicket]:
        """Return the tickets in the order in which they run: one of each client in turn. With `newest_only`, only those
        of each client's newest request are returned.
        """
        clients: dict[str, list[AnyTicket]] = {}
        for ticket in tickets:
            clients.setdefault(ticket.client, []).append(ticket)
        if newest_only:
            for client, own in clients.items():
                newest = max(ticket.number for ticket in own)
                clients[client] = [ticket for ticket in own if ticket.number == newest]
        least = min((had for client, had in self._rows.items() if client in clients), default=0)
        self._rows = {client: self._rows.get(client, least) for client in clients}
        in_turn = sorted(clients, key=lambda client: self._rows[client])
        return [ticket for each in zip_longest(*(clients[client] for client in in_turn)) for ticket in each if ticket]

    def charge(self, client: str, rows: int) -> None:
        """Count `rows` rows of a step for a client that has tickets."""
        if client in self._rows:
            self._rows[client] += rows
