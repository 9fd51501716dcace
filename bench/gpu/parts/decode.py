"""Modes side by side at batch 1: milliseconds of a gap, of a step, and of the host's part of it; tokens a second, and
tau where weights are real.
"""

import statistics
import time
from collections.abc import Iterator
from dataclasses import replace

from bench.gpu.setting import Sample, Setting, clocked
from dlsp_engine.backend import STEP_ROWS
from dlsp_engine.engine import Engine
from dlsp_engine.options import Options
from dlsp_engine.shared_step import share_step
from dlsp_engine.text.prompt import Gap

TOKENS, LINE = 32, 12


def variants() -> dict[str, Options]:
    common = {"max_tokens": TOKENS, "copy": False}
    return {
        "autoregressive": Options(mode="autoregressive", **common),
        "verified-3": Options(draft=3, **common),
        "verified-4": Options(draft=4, **common),
        "verified-6": Options(draft=6, **common),
        "verified-4-copy": Options(draft=4, max_tokens=TOKENS),
    }


def run(setting: Setting, name: str) -> Iterator[Sample]:
    """Each gap is prefilled once; each mode fills it from a copy of that session."""
    engine = setting.engine(name, setting.model(name, pages=1024))
    gaps = first_gaps(setting, name)
    yield from prefill(setting, engine, name)
    base: dict[int, tuple[int, ...]] = {}
    ms: dict[str, list[float]] = {}
    for mode, options in variants().items():
        for gap in gaps:
            engine.fill(gap, options)  # captures what it needs
        setting.heat()
        walls, fills = [], []
        for number, gap in enumerate(gaps):
            session = engine.prefilled(gap)
            setting.wait()
            began = time.perf_counter()
            fills.append(engine.fill(gap, options, session))
            walls.append(1e3 * (time.perf_counter() - began))
            base.setdefault(number, fills[-1].tokens)
        ms[mode] = walls
        tokens, forwards = (sum(getattr(fill.cost, field) for fill in fills) for field in ("tokens", "forwards"))
        ratios = [own / other for own, other in zip(walls, ms["autoregressive"], strict=True)]
        same = sum(fill.tokens == base[number] for number, fill in enumerate(fills)) / len(fills)
        sample = {"name": f"{name} {mode}", "gaps": len(gaps), "real_weights": setting.is_real(name)}
        sample["host_ms"] = host(engine, gaps, options)
        sample |= {"gap_ms_p50": statistics.median(walls), "step_ms": sum(walls) / forwards, "tau": tokens / forwards}
        sample |= {
            "tokens_s": 1e3 * tokens / sum(walls),
            "identical": same,
            "of_autoregressive": statistics.median(ratios),
        }
        full = [wall for wall, fill in zip(walls, fills, strict=True) if fill.cost.tokens == TOKENS]
        sample[f"gap_of_{TOKENS}_ms_p50"] = statistics.median(full) if full else None
        yield sample | {f"gap_of_{LINE}_ms_p50": lines(setting, engine, gaps, options)}


def lines(setting: Setting, engine: Engine, gaps: list[Gap], options: Options) -> float | None:
    """Milliseconds of an answer of LINE tokens, as a session that has the prompt in its cache gives it."""
    walls = []
    for gap in gaps:
        session = engine.prefilled(gap)
        setting.wait()
        began = time.perf_counter()
        fill = engine.fill(gap, replace(options, max_tokens=LINE), session)
        if fill.cost.tokens == LINE:
            walls.append(1e3 * (time.perf_counter() - began))
    return statistics.median(walls) if walls else None


def host(engine: Engine, gaps: list[Gap], options: Options) -> float:
    """Milliseconds of a step of decoding in which the model does not run: planning, and what follows from scores."""
    model_ms: list[float] = []
    all_ms = 0.0
    for gap in gaps:
        request = engine.request(gap, options, engine.prefilled(gap))
        while not request.done:
            began, before = time.perf_counter(), request.cost.forwards
            (step,) = (step for _, step in share_step([request], engine.backend.costs, engine.backend.most_rows))
            (result,) = engine.backend.step([step])
            request.take(step, result)
            if request.cost.forwards > before:
                all_ms += 1e3 * (time.perf_counter() - began)
                model_ms.append(result.milliseconds)
    return (all_ms - sum(model_ms)) / len(model_ms)


def prefill(setting: Setting, engine: Engine, name: str) -> Iterator[Sample]:
    """A prompt in the widest steps that a GPU takes, and in those of a CPU."""
    gap = Gap("x = 1\n" * (setting.context // 6 if not setting.is_real(name) else setting.context // 4), "\n")
    tokens = engine.request(gap, Options()).cost.prompt_tokens
    widest = engine.backend.most_rows
    for rows in (widest, STEP_ROWS):
        engine.backend.most_rows = rows
        engine.prefilled(gap)
        times = [clocked(lambda: (engine.prefilled(gap), setting.wait())) for _ in range(5)]
        sample = {"name": f"{name} prefill by {rows} rows", "tokens": tokens, "ms": 1e3 * statistics.median(times)}
        yield sample
    engine.backend.most_rows = widest


def first_gaps(setting: Setting, name: str) -> list[Gap]:
    if setting.is_real(name) and setting.gaps:
        from dlsp_engine.train.evaluate import read

        return [held.gap for held in read(setting.gaps, 2 if setting.warm else 40)]
    count = 2 if setting.rehearse or setting.warm else 20
    lead = "def total(rows):\n    return sum(row.price * row.count for row in rows)\n\n"
    return [Gap(lead * (setting.context // len(lead)) + f"def f{n}(x):\n    return ", "\n") for n in range(count)]
