"""What a step costs on this machine: measured once in a second or two, then remembered."""

import json
import os
import random
import time
from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F

from dlsp_engine.decode.budget import Costs
from dlsp_engine.machine import machine
from dlsp_engine.model.cache import Cache
from dlsp_engine.model.qwen2 import Model
from dlsp_engine.model.rows import MASK, Rows

CONTEXT = 256
ROWS = (1, 4, 8, 16, 32, 128)
CANVASES = ((1, 4), (4, 12))
"""Clean rows and canvas rows of the steps that tell what canvas rows add."""

REPEATS = 5
STEP = 2
"""Counts up with every change of what a step takes."""

FASTER = 0.7
"""A step that takes less than this share of what is remembered shows that the machine was busy when it was measured."""


def remembered(model: Model, name: str, path: Path) -> Costs:
    """The costs kept in the file, measured now where there are none of this machine, or none that can still be true.

    They stand under `name`, the instructions and the threads in use, so that a run with fewer does not replace them.
    """
    try:
        known = json.loads(path.read_text())
    except (OSError, ValueError):
        known = None
    if not isinstance(known, dict):
        known = {}
    here = machine() | {"threads": torch.get_num_threads(), "step": STEP}
    name = f"{name} {here['capability']} {here['threads']} threads"
    entry = known.get(name)
    if isinstance(entry, dict) and entry.get("machine") == here:
        try:
            costs = Costs.from_json(entry["costs"])
            if _row(model) >= FASTER * costs(1):
                return costs
        except (KeyError, TypeError, ValueError):
            pass
    costs = measure(model)
    known[name] = {"machine": here, "costs": asdict(costs)}
    try:
        partial = path.with_suffix(f".{os.getpid()}.partial")
        partial.write_text(json.dumps(known, indent=1))
        partial.replace(path)
    except OSError:
        pass  # it will be measured again
    return costs


def faster_dense() -> str:
    """`bfloat16` or `float32`: processors without instructions for the first are slow at it."""
    times = {}
    for name in ("bfloat16", "float32"):
        x, weight = torch.ones(5, 2048, dtype=getattr(torch, name)), torch.ones(4096, 2048, dtype=getattr(torch, name))
        found = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            F.linear(x, weight)
            found.append(time.perf_counter() - began)
        times[name] = min(found)
    return min(times, key=lambda name: times[name])


def measure(model: Model) -> Costs:
    """Whole steps, head included, over a context of CONTEXT tokens, in an order that changes.

    The least of each counts: whatever else the machine was doing only ever adds.
    """
    cache = model.new_cache()
    for start in range(0, CONTEXT, 128):
        model.forward([(cache, _rows(128, 0, start))])
        cache.length += 128
    shapes = [(rows, 0) for rows in ROWS] + list(CANVASES)
    times: dict[tuple[int, int], list[float]] = {shape: [] for shape in shapes}
    for turn in range(REPEATS + 1):
        for shape in random.Random(turn).sample(shapes, len(shapes)):
            began = time.perf_counter()
            _step(model, cache, *shape)
            if turn:  # the first warms up
                times[shape].append(1e3 * (time.perf_counter() - began))
    cost = {shape: min(found) for shape, found in times.items()}
    plain = Costs(ROWS, tuple(cost[rows, 0] for rows in ROWS))
    (few, more), (some, many) = ((rows, cost[rows] - plain(sum(rows))) for rows in CANVASES)
    a_row = max(0.0, (many - more) / (some[1] - few[1]))
    return Costs(plain.rows, plain.milliseconds, max(0.0, more - a_row * few[1]), a_row)


def _row(model: Model) -> float:
    """Milliseconds of a step of one row; the first of two also touches the weights."""
    cache = model.new_cache()
    times = []
    for _ in range(2):
        began = time.perf_counter()
        _step(model, cache, 1, 0)
        times.append(1e3 * (time.perf_counter() - began))
    return min(times)


def _step(model: Model, cache: Cache, clean: int, canvas: int) -> None:
    rows = _rows(clean, canvas, cache.length)
    hidden = model.forward([(cache, rows)])
    # A prompt's rows need no logits.
    model.head(hidden if len(rows) <= 32 else hidden[-1:]).argmax(-1).tolist()  # a device is waited for


def _rows(clean: int, canvas: int, start: int) -> Rows:
    rows = Rows()
    rows.add_clean([100 + i for i in range(clean)], start)
    if canvas:
        rows.add_canvas([MASK] * canvas, after=start + clean - 1)
    return rows
