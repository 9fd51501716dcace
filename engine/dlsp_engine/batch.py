"""Which rows of which jobs make up a step."""

from collections.abc import Sequence
from typing import TypeVar

from dlsp_engine.decode.session import MIN_COPIED_ROWS
from dlsp_engine.job import Job
from dlsp_engine.model.rows import Rows

STEP_ROWS = 128
"""A step is at most this wide, so that a newer request never waits long."""

AnyJob = TypeVar("AnyJob", bound=Job)


def pack(
    jobs: Sequence[AnyJob], sharing: int | None = None, beside: Sequence[AnyJob] = (), apart: bool = False
) -> list[tuple[AnyJob, Rows]]:
    """The rows of one step: at most STEP_ROWS, unless one job alone asks for more.

    Decoding takes a few rows each; prefilling takes what is left of the step. A prompt that begins like one before it
    waits until that one is prefilled and copies the rows, from jobs `beside` too. Each job plans as if `sharing`
    sessions shared the step's cost; by default those that do. See `Job.plan` for `apart`.
    """
    prefilling = [job for job in jobs if job.prefilling]
    decoding = [job for job in jobs if not job.prefilling]
    if sharing is None:
        # Beside another's prompt every row takes the place of one of the prompt's.
        sharing = STEP_ROWS if prefilling and len(jobs) > 1 else len(jobs)
    batch: list[tuple[AnyJob, Rows]] = []
    room = STEP_ROWS
    for job in [*decoding, *prefilling]:
        if room < 1:
            break
        job.borrow(other.session for other in [*jobs, *beside] if other is not job)
        if job.prefilling and any(_waits(job, before) for before, _ in batch):
            continue
        rows = job.plan(room, sharing, apart)
        if not batch or len(rows) <= room:
            batch.append((job, rows))
            room -= len(rows)
    return batch


def _waits(job: Job, before: Job) -> bool:
    """Whether `before` is about to prefill what `job` lacks."""
    return before.prefilling and before.session.shares(job.session) >= job.session.cache.length + MIN_COPIED_ROWS
