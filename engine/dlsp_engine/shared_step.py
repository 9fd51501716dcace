"""Chooses the requests of the next step, and how many rows of each it runs."""

from collections.abc import Sequence
from typing import TypeVar

from dlsp_engine.backend import RowsStep
from dlsp_engine.decode.budget import Costs
from dlsp_engine.decode.session import MIN_COPIED_ROWS
from dlsp_engine.request import Request

PREFILL_MS = 250  # that rows of prompts add to a step at most, so that a request that is cancelled ends soon
SHORT_STEP_TIMES = 2.0  # as long as a step of one row, which reads all weights, too
MIN_PREFILL_ROWS = 16  # of a prompt in a step, whatever they cost: fewer would hardly be faster
PREFILL_RESERVED_ROWS = 32  # rows that prefill gets in a step however many answers are decoded in it

AnyRequest = TypeVar("AnyRequest", bound=Request)


def share_step(
    requests: Sequence[AnyRequest],
    costs: Costs,
    most_rows: int,
    sharing: int | None = None,
    short: bool = False,
) -> list[tuple[AnyRequest, RowsStep]]:
    """Choose the requests of the next step, and return each with its part of the step. The step has at most `most_rows`
    rows, unless the first request alone needs more. By what they cost behind their contexts (`costs`), rows of prompts
    add at most PREFILL_MS, or MIN_PREFILL_ROWS rows if these take longer. A `short` step takes at most
    SHORT_STEP_TIMES as long as a step of one row, or has MIN_PREFILL_ROWS rows.

    Requests that decode come first, those that were left out for the most steps in front; prompts get the remaining
    rows, and at least PREFILL_RESERVED_ROWS. If a request earlier in the step prefills the same beginning of a prompt,
    a request waits and later copies those rows. Each request plans as if `sharing` sessions shared the step's cost; by
    default that is how many do share it.
    """
    prefilling = [one for one in requests if one.prefilling]
    decoding = [one for one in requests if not one.prefilling]
    decoding.sort(key=lambda one: -one.left_out)
    if sharing is None:
        # If another request's prompt fills the step, every row displaces one of that prompt's rows.
        sharing = most_rows if prefilling and len(requests) > 1 else len(requests)
    batch: list[tuple[AnyRequest, RowsStep]] = []
    room, left_ms = most_rows, PREFILL_MS
    if short:
        left_ms = min(PREFILL_MS, SHORT_STEP_TIMES * costs(1))
        room = max(MIN_PREFILL_ROWS, costs.rows_within(left_ms, most_rows))
    most_ms, reserved_rows = left_ms, min(PREFILL_RESERVED_ROWS, room // 2)
    for request in [*decoding, *prefilling]:
        reserved = reserved_rows if prefilling and not request.prefilling else 0
        if room - reserved < 1:
            continue
        request.borrow(other.session for other in requests if other is not request)
        if request.prefilling and any(_prefills_the_same(before, request) for before, _ in batch):
            continue
        rows, here = room - reserved, costs.behind(request.session.cache.length)
        if request.prefilling:
            rows = here.rows_within(left_ms, room)
            if rows < MIN_PREFILL_ROWS:
                if left_ms < most_ms:
                    continue
                rows = min(room, MIN_PREFILL_ROWS)
        prompt = request.prefilling
        step = request.plan(rows, sharing)
        if not batch or len(step.rows) <= room - reserved:
            batch.append((request, step))
            room -= len(step.rows)
            left_ms -= here(len(step.rows)) if prompt else 0
    return batch


def _prefills_the_same(before: Request, request: Request) -> bool:
    """Whether `before` is about to prefill enough rows that `request` needs too."""
    shared = before.session.shares(request.session)
    return before.prefilling and shared >= request.session.cache.length + MIN_COPIED_ROWS
