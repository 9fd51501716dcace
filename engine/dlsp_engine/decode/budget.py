"""The row budget: which rows a step of verified decoding brings, by what each is expected to gain."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from operator import mul
from typing import Any

from dlsp_engine.decode.draft import Node

FIRST_GUESS = (0.75, 0.72, 0.75, 0.75)
"""How often a draft token stands if those before it did, by offset, until there is experience."""

MEMORY = 0.02
"""The weight of one more observation in an average of recent ones."""

CAUTION = 0.5
"""What a canvas for later is worth of what it seems to be: the best of several estimates is a flattered one."""


@dataclass(frozen=True)
class Costs:
    """Milliseconds of a step by its number of rows (ascending), linear in between, and what canvas rows add; `threads`
    to use for so many rows, all of them where it is empty.
    """

    rows: tuple[float, ...] = (1, 128)
    milliseconds: tuple[float, ...] = (1.0, 3.0)
    canvas: float = 0.0
    canvas_row: float = 0.0
    threads: tuple[int, ...] = ()

    def __call__(self, clean: int, canvas: int = 0) -> float:
        extra = self.canvas + self.canvas_row * canvas if canvas else 0.0
        return self._of(clean + canvas) + extra

    def threads_for(self, rows: int) -> int | None:
        """Those of the next larger number of rows that was measured; None for all."""
        known = zip(self.rows, self.threads, strict=False)
        return next((threads for most, threads in known if rows <= most), None)

    def shared(self, sessions: int) -> "Costs":
        """One session's part of a step's cost, where so many sessions bring as many rows as it does."""
        if sessions == 1:
            return self
        rows, milliseconds = (tuple(value / sessions for value in values) for values in (self.rows, self.milliseconds))
        return Costs(rows, milliseconds, self.canvas / sessions, self.canvas_row)

    def _of(self, rows: int) -> float:
        points = list(zip(self.rows, self.milliseconds, strict=True))
        for (low, cheap), (high, dear) in pairwise(points):
            if rows <= high:
                return cheap + (dear - cheap) * (rows - low) / (high - low)
        return self.milliseconds[-1] * rows / self.rows[-1]

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Costs":
        rows, milliseconds, threads = (tuple(stored[name]) for name in ("rows", "milliseconds", "threads"))
        return cls(rows, milliseconds, float(stored["canvas"]), float(stored["canvas_row"]), threads)


@dataclass
class Acceptance:
    """Recent shares of a canvas's tokens that stood where those before them did, by offset."""

    canvas: list[float] = field(default_factory=lambda: list(FIRST_GUESS))

    def saw(self, drafted: int, stood: int) -> None:
        """A canvas's `drafted` tokens were verified and its first `stood` stood."""
        for offset in range(min(stood + 1, drafted, len(self.canvas))):
            self.canvas[offset] += MEMORY * (float(offset < stood) - self.canvas[offset])

    def run(self, width: int) -> float:
        """How many tokens of a canvas of `width` masks are expected to stand."""
        shares = [*self.canvas, *[self.canvas[-1]] * width]
        return sum(accumulate(shares[:width], mul))


@dataclass(frozen=True)
class Plan:
    """Verify the first `verify` tokens of the draft, and `alternatives` to some of them; lay a canvas of `width` masks
    after each of the clean rows `anchors`: 0 is the last committed token's, then come the draft's, then the others'.
    """

    verify: int
    anchors: tuple[int, ...]
    width: int
    alternatives: tuple[Node, ...] = ()

    def alternative(self, offset: int, token: int) -> int | None:
        """The row of the one at `offset` that is `token`, counted as in `anchors`; None where none was laid."""
        rows = enumerate(self.alternatives, 1 + self.verify)
        return next((row for row, node in rows if (node.offset, node.token) == (offset, token)), None)


def plan(
    nodes: Sequence[Node], most: int, costs: Costs, acceptance: Acceptance, least: int = 1, beside: int = 0
) -> Plan:
    """The plan of the greatest expected gain.

    `nodes` are a draft's, `most` is the widest canvas. Time is priced by what a token costs when drafting and verifying
    alternate, so a canvas that is there when it is needed is worth the step that would have to lay it. Where that price
    is no better than one token a step, no canvas is laid. At least the first `least` nodes are verified: another canvas
    would hardly draft better than one. So many rows of a prompt are in the step `beside` what is planned.
    """
    width, per_token = _alternating(most, costs, acceptance)
    worth = costs(1, width) - per_token if width else 0.0
    if not nodes:
        pays = not beside or worth > costs(beside + 1, width) - costs(beside + 1)
        return Plan(0, (0,) if width and pays else (), width)
    best, most_gained = (0, []), float("-inf")
    for count in range(least, len(nodes) + 1):
        laid = nodes[:count]
        stops = _stops(laid)
        likely = sorted(range(len(stops)), key=lambda row: -stops[row])
        stand = 1.0 + sum(node.probability for node in laid)
        covered = 0.0
        for canvases in range(count + 2 if width else 1):
            if canvases:
                more = CAUTION * stops[likely[canvases - 1]] * worth
                if more < costs.canvas_row * width:
                    break
                covered += more
            gain = stand * per_token + covered - costs(beside + 1 + count, canvases * width)
            if gain > most_gained:
                best, most_gained = (count, likely[:canvases]), gain
    count, anchors = best
    return lay(nodes[:count], anchors, width)


def lay(nodes: Sequence[Node], anchors: Collection[int], width: int) -> Plan:
    """All of `nodes`, with canvases after some: 0 for the last committed token, then the nodes as they come."""
    own = [row for row, node in enumerate(nodes, 1) if not node.alternative]
    others = [row for row, node in enumerate(nodes, 1) if node.alternative]
    others.sort(key=lambda row: row in anchors)  # steps with no canvas behind one are of few shapes
    place = {row: place for place, row in enumerate([0, *own, *others])}
    laid = tuple(sorted(place[row] for row in anchors))
    return Plan(len(own), laid, width, tuple(nodes[row - 1] for row in others))


def _stops(nodes: Sequence[Node]) -> list[float]:
    """How likely acceptance is to stop after the last committed token, and after each of the nodes."""
    stops, row_of = [1.0], {-1: 0}
    for row, node in enumerate(nodes, 1):
        stops[row_of[node.offset - 1]] -= node.probability
        stops.append(node.probability)
        if not node.alternative:
            row_of[node.offset] = row
    return stops


def _alternating(most: int, costs: Costs, acceptance: Acceptance) -> tuple[int, float]:
    """The width of canvas at which drafting and verifying in turn is cheapest, and what a token costs then.

    Width 0 where one token a step is cheaper still.
    """
    prices = {0: costs(1)}
    for width in range(1, most + 1):
        prices[width] = (costs(1, width) + costs(1 + width)) / (2 + acceptance.run(width))
    return min(prices.items(), key=lambda item: item[1])
