"""Where the time of a step goes: microseconds of each kernel, and of the host's functions between two steps."""

import cProfile
import pstats
from collections.abc import Iterator
from pathlib import Path

from torch.profiler import ProfilerActivity, profile

from bench.gpu.parts.decode import first_gaps
from bench.gpu.parts.steps import step
from bench.gpu.setting import Sample, Setting
from dlsp_engine.options import Options
from dlsp_kernels import overlap

STEPS, FUNCTIONS = 20, 25


def run(setting: Setting, name: str) -> Iterator[Sample]:
    model = setting.model(name)
    overlap.wanted = False  # or a kernel's time includes its wait for the one before
    for count in (1, 5) if setting.rehearse else (1, 32):
        captured, _, _ = step(setting, model, count, count > 1)
        captured()
        setting.wait()
        with profile(activities=[ProfilerActivity.CPU if setting.rehearse else ProfilerActivity.CUDA]) as found:
            for _ in range(STEPS):
                captured()
            setting.wait()
        for event in sorted(found.key_averages(), key=lambda event: -event.self_device_time_total):
            sample = {"name": f"{name}, {count} rows: {event.key[:60]}", "us": event.self_device_time_total / STEPS}
            yield sample | {"launches": event.count / STEPS}
    overlap.wanted = True
    yield from host(setting, name)


def host(setting: Setting, name: str) -> Iterator[Sample]:
    """Of verified decoding at batch 1; a profile slows what calls much."""
    engine = setting.engine(name, setting.model(name, pages=1024))
    gap, options = first_gaps(setting, name)[0], Options(max_tokens=32)
    for _ in range(2):
        engine.fill(gap, options)  # captures what it needs
    sessions = [engine.prefilled(gap) for _ in range(STEPS)]
    setting.wait()
    taken = cProfile.Profile()
    taken.enable()
    steps = sum(engine.fill(gap, options, session).cost.forwards for session in sessions)
    taken.disable()
    shown = sorted(pstats.Stats(taken).stats.items(), key=lambda item: -item[1][2])  # type: ignore[attr-defined]
    for (file, line, function), (_, calls, own, whole, _) in shown[:FUNCTIONS]:
        place = f"{Path(file).name}:{line} {function}" if line else function[:60]
        sample = {"name": f"{name} host: {place}", "us": 1e6 * own / steps, "with_callees_us": 1e6 * whole / steps}
        yield sample | {"calls": calls / steps}
