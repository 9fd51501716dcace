"""Measures what a step costs on this machine, once in some seconds, and stores the result in a file."""

import json
import os
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import torch
import torch.nn.functional as F

from dlsp_engine.backend import RowsStep
from dlsp_engine.decode.budget import MEASURED_CONTEXT, Costs
from dlsp_engine.machine import machine
from dlsp_engine.model.cache import Cache
from dlsp_engine.model.qwen2 import Model
from dlsp_engine.model.rows import MASK, Rows
from dlsp_engine.threads import using

LONG_CONTEXT, LONG_CONTEXT_ROWS = 4096, 16  # of the step that tells what a longer context adds
TIMED_ROWS = (1, 4, 8, 16, 32, 128)  # and the most that a step may have, where that is more
# (Clean rows, canvas rows) of the steps that show what canvas rows add.
TIMED_CANVASES = ((1, 4), (4, 12))

# Each kind of step is timed in TURNS turns; steps of more than MAX_NARROW_ROWS rows only in every WIDE_TURN-th. The
# result is the median, because other programs also read from memory, now more and now less: by the least of five turns
# four rows took 0.8 to 1.6 of one row's time, by the median of fifteen 1.04 to 1.14.
TURNS, WIDE_TURN = 15, 3

# Increase it with every change of a step's costs, or of how they are measured.
STEP_VERSION = 8

# Steps of up to this many rows are also timed with fewer threads.
MAX_NARROW_ROWS = 16

# A step runs on the fewest threads that take at most this many times the shortest time. More threads gain little, and
# lose much while another program runs, because they wait for each other at every op.
THREADS_SLOWDOWN = 1.25

# Stored costs are checked by a step of this many rows: all threads share it, and its time depends little on how fast
# memory is at the moment.
CHECKED_ROWS = 32

# If a step now takes less than this share of its stored time, the machine was busy when that was measured.
MAX_TIME_SHARE = 0.7

# The machine counts as busy if, while costs are measured, other programs use more than OTHERS_SHARE of the processors'
# time and less than IDLE_SHARE of it is idle. Costs from a busy machine are marked: they are measured again at the next
# start, and they are no reason to refuse a model.
OTHERS_SHARE, IDLE_SHARE = 0.2, 0.2


class StepKind(NamedTuple):
    """A kind of step: its number of clean rows, its number of canvas rows, and the threads that run it."""

    clean: int
    canvas: int
    threads: int


def remembered(model: Model, name: str, path: Path) -> Costs:
    """Return the costs of a step on this machine: those stored in the file `path`, or new measurements if the file has
    none for this machine or they can no longer be right. New measurements are written to the file.

    They are stored under `name`, the processor's instruction set and the number of threads, so that a run with fewer
    threads does not overwrite the costs for more.
    """
    here = machine() | {"threads": torch.get_num_threads(), "step": STEP_VERSION}
    name = f"{name} {here['capability']} {here['threads']} threads"
    entry = _read_file(path).get(name)
    if isinstance(entry, dict) and entry.get("machine") == here:
        try:
            costs = Costs.from_json(entry["costs"])
            if not (entry.get("busy") or _measured_busy(model, costs)):
                return costs
        except (KeyError, TypeError, ValueError):
            pass
    before = Load.so_far()
    costs = measure(model)
    busy = Load.so_far().was_shared(before)
    stored = _read_file(path)  # another engine may have written to the file meanwhile
    stored[name] = {"machine": here, "costs": asdict(costs), "busy": busy}
    try:
        partial = path.with_suffix(f".{os.getpid()}.partial")
        partial.write_text(json.dumps(stored, indent=1))
        partial.replace(path)
    except OSError:
        pass  # the next start measures again
    return costs


def _measured_busy(model: Model, costs: Costs) -> bool:
    """Whether a step is now so much faster than `costs` says that the machine must have been busy back then."""
    kind = StepKind(CHECKED_ROWS, 0, costs.threads_for(CHECKED_ROWS) or torch.get_num_threads())
    return _usual(model, model.new_cache(), [kind], 3 * WIDE_TURN)[kind] < MAX_TIME_SHARE * costs(CHECKED_ROWS)


class Load(NamedTuple):
    """Processor time in seconds, summed over the processors that this process may use: in all, idle, and used by this
    process itself.
    """

    all: float
    idle: float
    own: float

    @classmethod
    def so_far(cls) -> "Load":
        """Return the time up to now: since the machine started, and for `own` since this process started."""
        each = psutil.cpu_times(percpu=True)
        allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(len(each))
        here = [each[number] for number in allowed if number < len(each)]
        # The time of virtual machines (`guest`) is also counted in `user`.
        every = sum(sum(getattr(cpu, name) for name in cpu._fields if not name.startswith("guest")) for cpu in here)
        return cls(every, sum(cpu.idle + getattr(cpu, "iowait", 0.0) for cpu in here), time.process_time())

    def was_shared(self, before: "Load") -> bool:
        """Whether other programs used so much processor time since `before` that this process had to wait for them."""
        every, idle, own = (now - then for now, then in zip(self, before, strict=True))
        return every > 0 and idle < IDLE_SHARE * every and every - idle - own > OTHERS_SHARE * every


def _read_file(path: Path) -> dict[str, Any]:
    try:
        stored = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}


def faster_dense() -> str:
    """Return `bfloat16` or `float32`, whichever multiplies faster here: processors without instructions for bfloat16
    are slow at it.
    """
    times = {}
    for name in ("bfloat16", "float32"):
        x, weight = torch.ones(5, 2048, dtype=getattr(torch, name)), torch.ones(4096, 2048, dtype=getattr(torch, name))
        found = []
        for _ in range(5):
            began = time.perf_counter()
            F.linear(x, weight)
            found.append(time.perf_counter() - began)
        times[name] = min(found)
    return min(times, key=lambda name: times[name])


def measure(model: Model) -> Costs:
    """Measure the costs of a step. Each is the median time of whole steps, output head included, behind a context of
    MEASURED_CONTEXT tokens. Steps of different kinds are timed in random order.
    """
    most_rows = model.backend(Costs()).most_rows
    timed_rows = (*TIMED_ROWS, *([most_rows] if most_rows > TIMED_ROWS[-1] else []))
    cache = model.new_cache()
    for start in range(0, MEASURED_CONTEXT, 128):
        model.forward([(cache, _rows(128, 0, start))])
        cache.length += 128
    every = torch.get_num_threads()
    fewer = [2**power for power in range(every.bit_length()) if 2**power < every] if model.fewer_threads else []
    plain = [
        StepKind(rows, 0, threads)
        for rows in timed_rows
        for threads in (*(fewer if rows <= MAX_NARROW_ROWS else ()), every)
    ]
    cost = _usual(model, cache, plain, TURNS)
    best = [_fewest_threads({kind: ms for kind, ms in cost.items() if kind.clean == rows}) for rows in timed_rows]
    costs = Costs(timed_rows, tuple(cost[kind] for kind in best), threads=tuple(kind.threads for kind in best))

    drafts = [StepKind(clean, canvas, costs.threads_for(clean + canvas) or every) for clean, canvas in TIMED_CANVASES]
    found = _usual(model, cache, drafts, TURNS)
    few, many = drafts
    more, most = (found[kind] - costs(kind.clean + kind.canvas) for kind in drafts)
    a_row = max(0.0, (most - more) / (many.canvas - few.canvas))
    costs = replace(costs, canvas=max(0.0, more - a_row * few.canvas), canvas_row=a_row)

    cache = model.new_cache()
    cache.reserve(LONG_CONTEXT)
    cache.length = LONG_CONTEXT  # of keys that no step has written, which take as long to attend to
    behind = StepKind(LONG_CONTEXT_ROWS, 0, costs.threads_for(LONG_CONTEXT_ROWS) or every)
    longer = _usual(model, cache, [behind], TURNS)[behind] - costs(LONG_CONTEXT_ROWS)
    return replace(costs, row_key=max(0.0, longer) / LONG_CONTEXT_ROWS / (LONG_CONTEXT - MEASURED_CONTEXT))


def _usual(model: Model, cache: Cache, kinds: Sequence[StepKind], turns: int) -> dict[StepKind, float]:
    """Return the median time in milliseconds of steps of each kind, over `turns` turns. Steps of more than
    MAX_NARROW_ROWS rows are timed only in every WIDE_TURN-th turn.
    """
    times: dict[StepKind, list[float]] = {kind: [] for kind in kinds}
    for turn in range(-2, turns):
        for kind in random.Random(turn).sample(kinds, len(kinds)):
            if turn > 0 and turn % WIDE_TURN and kind.clean + kind.canvas > MAX_NARROW_ROWS:
                continue
            with using(kind.threads):
                began = time.perf_counter()
                _step(model, cache, kind.clean, kind.canvas)
            if turn >= 0:  # the two before it warm up: in the second a GPU may capture its graph
                times[kind].append(1e3 * (time.perf_counter() - began))
    return {kind: statistics.median(found) for kind, found in times.items()}


def _fewest_threads(cost: dict[StepKind, float]) -> StepKind:
    """Return the kind with the fewest threads whose time is at most THREADS_SLOWDOWN times the shortest. `cost` maps
    kinds that differ only in their threads to milliseconds.
    """
    least = min(cost.values())
    return min((kind for kind, ms in cost.items() if ms <= THREADS_SLOWDOWN * least), key=lambda kind: kind.threads)


def _step(model: Model, cache: Cache, clean: int, canvas: int) -> None:
    rows = _rows(clean, canvas, cache.length)
    # Steps of many rows measure prefill, which needs no logits but those of the last row.
    rows.scored = list(range(len(rows))) if len(rows) <= 32 else [len(rows) - 1]
    (found,) = model.backend(Costs()).step([RowsStep(cache, rows)])
    found.scores.best()


def _rows(clean: int, canvas: int, start: int) -> Rows:
    rows = Rows()
    rows.add_clean([100 + i for i in range(clean)], start)
    if canvas:
        rows.add_canvas([MASK] * canvas, after=start + clean - 1)
    return rows
