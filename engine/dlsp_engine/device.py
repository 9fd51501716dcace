"""Jobs whose next step runs on the device from end to end, all of them at once."""

import time
from collections.abc import Sequence
from itertools import islice
from typing import cast

from dlsp_engine.batch import AnyJob
from dlsp_engine.model.gpu.loop import GAPS, GapState, Loop
from dlsp_engine.model.gpu.pool import PagedCache


def step_on_device(loop: Loop, jobs: Sequence[AnyJob]) -> list[AnyJob]:
    """Step those that can be; returns them. Jobs with canvases of the same width share a forward."""
    widths: dict[int, list[tuple[AnyJob, GapState]]] = {}
    for job in jobs:
        decoder = job.device_decoder
        if decoder and (wanted := decoder.on_device):
            width, draft = wanted
            cache = cast(PagedCache, job.session.cache)
            widths.setdefault(width, []).append((job, GapState(cache, job.session.tokens[-1], tuple(draft))))
    for width, group in widths.items():
        gaps = iter(group)
        while some := list(islice(gaps, GAPS[-1])):
            began = time.perf_counter()
            for job, _ in some:
                job.start()
            steps = loop.step([state for _, state in some], width)
            milliseconds = 1e3 * (time.perf_counter() - began)
            for (job, _), one in zip(some, steps, strict=True):
                job.take_device_step(one, milliseconds)
    return [job for group in widths.values() for job, _ in group]
