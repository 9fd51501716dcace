"""The row budget of verified decoding: chooses the rows of a step by what each is expected to gain."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import mul
from typing import Any

from dlsp_engine.decode.draft import Node

MEASURED_CONTEXT = 256  # tokens of context behind which costs are measured
FIRST_ACCEPTANCE = (0.75, 0.72, 0.75, 0.75)  # of a canvas's tokens, by offset, before any was observed
NEW_WEIGHT = 0.02  # of a new observation in the moving average
CANVAS_DISCOUNT = 0.5  # the gain of a canvas counts half: the best of several noisy estimates is too high
LIKELY = 0.05  # schedules other than `auto` verify tokens that are at least this likely to be accepted


@dataclass(frozen=True)
class Costs:
    """What a step takes on this machine: call it with the numbers of clean and canvas rows to get milliseconds.

    `milliseconds` are the times of steps with as many rows as `rows` says (ascending); between them it interpolates
    linearly. A step with canvases takes `canvas` ms more, and `canvas_row` ms more for each canvas row. All this holds
    behind a context of MEASURED_CONTEXT tokens; behind a longer one, each row takes `row_key` ms more for each further
    token. `threads` says how many threads to use for each of `rows`; empty means all.
    """

    rows: tuple[float, ...] = (1, 128)
    milliseconds: tuple[float, ...] = (1.0, 3.0)
    canvas: float = 0.0
    canvas_row: float = 0.0
    row_key: float = 0.0
    threads: tuple[int, ...] = ()

    def __call__(self, clean: int, canvas: int = 0) -> float:
        extra = self.canvas + self.canvas_row * canvas if canvas else 0.0
        return self._interpolated(clean + canvas) + extra

    def threads_for(self, rows: int) -> int | None:
        """Return how many threads to use for `rows` rows: those of the next larger number of rows that was measured, or
        None for all threads.
        """
        measured = zip(self.rows, self.threads, strict=False)
        return next((threads for most, threads in measured if rows <= most), None)

    def behind(self, context: int) -> "Costs":
        """Return the costs of a step behind a context of so many tokens."""
        a_row = self.row_key * max(0, context - MEASURED_CONTEXT)
        milliseconds = tuple(ms + rows * a_row for rows, ms in zip(self.rows, self.milliseconds, strict=True))
        return Costs(self.rows, milliseconds, self.canvas, self.canvas_row, threads=self.threads)

    def rows_within(self, milliseconds: float, most: int) -> int:
        """Return the most clean rows, up to `most`, of a step that takes at most so many milliseconds."""
        return bisect_right(range(1, most + 1), milliseconds, key=self)

    def shared(self, sessions: int) -> "Costs":
        """Return one session's share of these costs, if `sessions` sessions each bring as many rows as it does."""
        if sessions == 1:
            return self
        rows, milliseconds = (tuple(value / sessions for value in values) for values in (self.rows, self.milliseconds))
        return Costs(rows, milliseconds, self.canvas / sessions, self.canvas_row)

    def _interpolated(self, rows: int) -> float:
        at = max(1, bisect_left(self.rows, rows))
        if at >= len(self.rows):
            return self.milliseconds[-1] * rows / self.rows[-1]
        low, high, cheap, dear = *self.rows[at - 1 : at + 1], *self.milliseconds[at - 1 : at + 1]
        return cheap + (dear - cheap) * (rows - low) / (high - low)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Costs":
        rows, milliseconds, threads = (tuple(stored[name]) for name in ("rows", "milliseconds", "threads"))
        canvas, canvas_row, row_key = (float(stored[name]) for name in ("canvas", "canvas_row", "row_key"))
        return cls(rows, milliseconds, canvas, canvas_row, row_key, threads)


@dataclass
class Acceptance:
    """How often a canvas's token was accepted in recent steps when all tokens before it were: a moving average for each
    offset.
    """

    canvas: list[float] = field(default_factory=lambda: list(FIRST_ACCEPTANCE))

    def record(self, drafted: int, accepted: int) -> None:
        """Record that `drafted` tokens of a canvas were verified and the first `accepted` of them accepted."""
        for offset in range(min(accepted + 1, drafted, len(self.canvas))):
            self.canvas[offset] += NEW_WEIGHT * (float(offset < accepted) - self.canvas[offset])

    def expected(self, width: int) -> float:
        """How many tokens of a canvas of `width` masks are expected to be accepted."""
        shares = [*self.canvas, *[self.canvas[-1]] * width]
        return sum(accumulate(shares[:width], mul))


@dataclass(frozen=True)
class StepPlan:
    """The rows of one step. It verifies the first `verify` tokens of the draft and `alternatives` to some of them, and
    has a canvas of `width` masks after each clean row in `canvas_after`.

    Clean rows are numbered from 0: the last committed token's, then the draft's, then those of the alternatives.
    """

    verify: int
    canvas_after: tuple[int, ...]
    width: int
    alternatives: tuple[Node, ...] = ()

    @classmethod
    def of(cls, nodes: Sequence[Node], canvas_after: Collection[int], width: int) -> "StepPlan":
        """Return the plan that verifies all of `nodes`. `canvas_after` uses other row numbers: 0 is the last committed
        token, then come the nodes in their given order.
        """
        own = [row for row, node in enumerate(nodes, 1) if not node.alternative]
        others = [row for row, node in enumerate(nodes, 1) if node.alternative]
        others.sort(key=lambda row: row in canvas_after)  # in this order steps have fewer different shapes
        place = {row: place for place, row in enumerate([0, *own, *others])}
        after = tuple(sorted(place[row] for row in canvas_after))
        return cls(len(own), after, width, tuple(nodes[row - 1] for row in others))

    def alternative(self, offset: int, token: int) -> int | None:
        """Return the clean row of the alternative `token` at `offset`; None if there is none."""
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
    """Choose how many nodes to verify and how many canvases to add, so that expected tokens x price of a token - cost
    of the rows is largest, all in milliseconds.

    `nodes` are those of a draft, the likeliest first; a canvas has at most `max_width` masks. `prompt_rows` rows of the
    prompt are in this step already. The price of a token is what it costs when draft steps and verify steps alternate.
    A canvas that is ready when it is needed therefore saves the step that would have to draft it. If that price is no
    better than that of decoding one token a step, there are no canvases. The first `min_verified` nodes are always
    verified, since another canvas would hardly draft anything better.
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
    """Return the plan of a schedule other than `auto`. With `merged` there is a canvas after every clean row, else only
    when there is nothing to verify.
    """
    likely = [node for node in nodes if node.probability >= LIKELY]
    canvas_after = range(1 + len(likely)) if merged or not likely else range(0)
    return StepPlan.of(likely, canvas_after if width else (), width)


def _stops(nodes: Sequence[Node]) -> list[float]:
    """Return the probability that acceptance stops after the last committed token, and after each of the nodes."""
    stops, row_of = [1.0], {-1: 0}
    for row, node in enumerate(nodes, 1):
        stops[row_of[node.offset - 1]] -= node.probability
        stops.append(node.probability)
        if not node.alternative:
            row_of[node.offset] = row
    return stops


def _alternating(max_width: int, costs: Costs, acceptance: Acceptance) -> tuple[int, float]:
    """Return the canvas width at which alternating draft and verify steps are cheapest, and the milliseconds per token
    then. The width is 0 if one token a step is cheaper still.
    """
    prices = {0: costs(1)}
    for width in range(1, max_width + 1):
        prices[width] = (costs(1, width) + costs(1 + width)) / (2 + acceptance.expected(width))
    return min(prices.items(), key=lambda item: item[1])
