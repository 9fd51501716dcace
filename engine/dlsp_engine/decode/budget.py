"""The row budget of verified decoding: which rows a step brings, by what each is expected to gain."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from operator import mul
from typing import Any

from dlsp_engine.decode.draft import Node

FIRST_ACCEPTANCE = (0.75, 0.72, 0.75, 0.75)  # of a canvas's tokens, by offset, until there is experience
NEW_WEIGHT = 0.02  # of one more observation in the average of recent ones
CANVAS_DISCOUNT = 0.5  # a canvas for later is worth half of what it seems: the best of several estimates flatters
LIKELY = 0.05  # the schedules other than `auto` verify the tokens of a draft that are accepted so often


@dataclass(frozen=True)
class Costs:
    """What a step takes on this machine, called with its numbers of clean and canvas rows -> milliseconds.

    `milliseconds` are those of steps of so many `rows` (ascending), linear in between; a canvas adds `canvas`, and
    `canvas_row` for each of its rows. `threads` is how many to use for so many rows; empty means all.
    """

    rows: tuple[float, ...] = (1, 128)
    milliseconds: tuple[float, ...] = (1.0, 3.0)
    canvas: float = 0.0
    canvas_row: float = 0.0
    threads: tuple[int, ...] = ()

    def __call__(self, clean: int, canvas: int = 0) -> float:
        extra = self.canvas + self.canvas_row * canvas if canvas else 0.0
        return self._interpolated(clean + canvas) + extra

    def threads_for(self, rows: int) -> int | None:
        """The threads of the next larger number of rows that was measured; None for all."""
        measured = zip(self.rows, self.threads, strict=False)
        return next((threads for most, threads in measured if rows <= most), None)

    def shared(self, sessions: int) -> "Costs":
        """One session's part of a step's cost, where so many sessions bring as many rows as it does."""
        if sessions == 1:
            return self
        rows, milliseconds = (tuple(value / sessions for value in values) for values in (self.rows, self.milliseconds))
        return Costs(rows, milliseconds, self.canvas / sessions, self.canvas_row)

    def _interpolated(self, rows: int) -> float:
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
    """How often a canvas's token was accepted of late where those before it were, by offset."""

    canvas: list[float] = field(default_factory=lambda: list(FIRST_ACCEPTANCE))

    def record(self, drafted: int, accepted: int) -> None:
        """A canvas's `drafted` tokens were verified and its first `accepted` accepted."""
        for offset in range(min(accepted + 1, drafted, len(self.canvas))):
            self.canvas[offset] += NEW_WEIGHT * (float(offset < accepted) - self.canvas[offset])

    def expected(self, width: int) -> float:
        """How many tokens of a canvas of `width` masks are expected to be accepted."""
        shares = [*self.canvas, *[self.canvas[-1]] * width]
        return sum(accumulate(shares[:width], mul))


@dataclass(frozen=True)
class StepPlan:
    """What one step brings: the first `verify` tokens of the draft, `alternatives` to some of them, and canvases of
    `width` masks after the clean rows `canvas_after`.

    Clean rows are counted so: 0 is the last committed token's, then come the draft's, then the alternatives'.
    """

    verify: int
    canvas_after: tuple[int, ...]
    width: int
    alternatives: tuple[Node, ...] = ()

    @classmethod
    def of(cls, nodes: Sequence[Node], canvas_after: Collection[int], width: int) -> "StepPlan":
        """Verify all of `nodes`; `canvas_after` counts 0 for the last committed token, then the nodes as they come."""
        own = [row for row, node in enumerate(nodes, 1) if not node.alternative]
        others = [row for row, node in enumerate(nodes, 1) if node.alternative]
        others.sort(key=lambda row: row in canvas_after)  # steps with no canvas behind one are of few shapes
        place = {row: place for place, row in enumerate([0, *own, *others])}
        after = tuple(sorted(place[row] for row in canvas_after))
        return cls(len(own), after, width, tuple(nodes[row - 1] for row in others))

    def alternative(self, offset: int, token: int) -> int | None:
        """The clean row of the alternative `token` at `offset`; None where there is none."""
        rows = enumerate(self.alternatives, 1 + self.verify)
        return next((row for row, node in rows if (node.offset, node.token) == (offset, token)), None)


def best_plan(
    nodes: Sequence[Node],
    max_width: int,
    costs: Costs,
    acceptance: Acceptance,
    min_verified: int = 1,
    prompt_rows: int = 0,
) -> StepPlan:
    """The number of verified nodes and of canvases for which expected tokens x price of a token - cost of the rows is
    largest.

    `nodes` are a draft's, the likeliest first; canvases have at most `max_width` masks. `prompt_rows` fill this step
    already. A token's price is what it costs when drafting and verifying alternate, so a canvas that is there when it
    is needed is worth the step that would have to draft it. Where that price is no better than one token a step, there
    are no canvases. The first `min_verified` nodes are verified in any case: another canvas would hardly draft better.
    """
    width, per_token = _alternating(max_width, costs, acceptance)
    worth = costs(1, width) - per_token if width else 0.0
    if not nodes:
        pays = not prompt_rows or worth > costs(prompt_rows + 1, width) - costs(prompt_rows + 1)
        return StepPlan(0, (0,) if width and pays else (), width)
    best, best_gain = (0, []), float("-inf")
    for count in range(min_verified, len(nodes) + 1):
        verified = nodes[:count]
        stops = _stops(verified)
        likely = sorted(range(len(stops)), key=lambda row: -stops[row])
        tokens = 1.0 + sum(node.probability for node in verified)
        canvas_gain = 0.0
        for canvases in range(count + 2 if width else 1):
            if canvases:
                more = CANVAS_DISCOUNT * stops[likely[canvases - 1]] * worth
                if more < costs.canvas_row * width:
                    break
                canvas_gain += more
            gain = tokens * per_token + canvas_gain - costs(prompt_rows + 1 + count, canvases * width)
            if gain > best_gain:
                best, best_gain = (count, likely[:canvases]), gain
    count, canvas_after = best
    return StepPlan.of(nodes[:count], canvas_after, width)


def fixed_plan(nodes: Sequence[Node], width: int, merged: bool) -> StepPlan:
    """The plan of the schedules other than `auto`: canvases when there is nothing to verify, or `merged`, always."""
    likely = [node for node in nodes if node.probability >= LIKELY]
    canvas_after = range(1 + len(likely)) if merged or not likely else range(0)
    return StepPlan.of(likely, canvas_after if width else (), width)


def _stops(nodes: Sequence[Node]) -> list[float]:
    """How likely acceptance is to stop after the last committed token, and after each of the nodes."""
    stops, row_of = [1.0], {-1: 0}
    for row, node in enumerate(nodes, 1):
        stops[row_of[node.offset - 1]] -= node.probability
        stops.append(node.probability)
        if not node.alternative:
            row_of[node.offset] = row
    return stops


def _alternating(max_width: int, costs: Costs, acceptance: Acceptance) -> tuple[int, float]:
    """The width of canvas at which drafting and verifying in turn is cheapest, and what a token costs then.

    Width 0 where one token a step is cheaper still.
    """
    prices = {0: costs(1)}
    for width in range(1, max_width + 1):
        prices[width] = (costs(1, width) + costs(1 + width)) / (2 + acceptance.expected(width))
    return min(prices.items(), key=lambda item: item[1])
