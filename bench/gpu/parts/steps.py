"""What a step costs by its rows, beside the floor: its weights read once at the rate of a copy."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from bench.gpu.setting import Sample, Setting
from dlsp_engine.model.gpu.buffers import BatchShape, Buffer
from dlsp_engine.model.gpu.step import GpuQwen2
from dlsp_engine.model.rows import MASK, Rows
from dlsp_kernels import overlap
from dlsp_kernels.ops import StepOps

ROWS = (1, 2, 5, 8, 16, 25, 32, 64, 128)

REPLAYS = 50


def run(setting: Setting, name: str, format: str = "dense") -> Iterator[Sample]:
    model = setting.model(name, format=format)
    rate = setting.bytes_per_ms()
    one = 0.0
    for count in (1, 5) if setting.rehearse else ROWS:
        canvas = count > 1
        size = model.weights.bytes(canvas)
        sample = {"name": f"{name} {format} {count} rows", "rows": count, "canvas": canvas, "floor_ms": size / rate}
        sample |= {"copy_GB_s": rate / 1e6, "weights_MB": size / 1e6, "real_weights": setting.is_real(name)}
        captured, launch, buffer = step(setting, model, count, canvas)
        ms = setting.median_ms(captured)
        one = one or ms
        sample |= {"ms": ms, "of_floor": ms / sample["floor_ms"], "of_one_row": ms / one}
        sample["again_ms"] = setting.median_ms(captured)
        sample["as_references"] = same(model, captured, launch)
        sample |= beside_in_turn(setting, model, captured, launch, buffer)
        yield sample | {"replaced": dict(model.failures), "graphs": len(model.graphs)}


def same(model: GpuQwen2, captured: Callable[[], Tensor], launch: Callable[[], Tensor]) -> float:
    """Share of rows whose likeliest token is the references' too: all but near ties, which rounding decides."""
    found = captured().argmax(1)
    kernels, model.ops = model.ops, StepOps(False)
    try:
        return float((launch().argmax(1) == found).float().mean())
    finally:
        model.ops = kernels


@torch.inference_mode()
def beside_in_turn(
    setting: Setting, model: GpuQwen2, captured: Callable[[], Tensor], launch: Callable[[], Tensor], buffer: Buffer
) -> Sample:
    """The same step with kernels one after the other: its time, and how many of REPLAYS overlapping steps give another
    result, which would mean that a kernel reads what is not there yet. Before each a step has other tokens: what is
    read too early is then another's, not the same from the replay before.
    """
    key, wanted = object(), overlap.wanted  # it is False where no overlapping step could be captured
    overlap.wanted = False
    try:
        found = model.graphs(key, launch).clone()
    finally:
        overlap.wanted = wanted
    differ = 0
    for _ in range(REPLAYS):
        buffer.rows.token.add_(1)
        captured()
        buffer.rows.token.sub_(1)
        differ += not torch.equal(captured(), found)
    in_turn = setting.median_ms(lambda: model.graphs(key, launch))
    return {"in_turn_ms": in_turn, "differ": differ, "overlapping": wanted}


@torch.inference_mode()
def step(
    setting: Setting, model: GpuQwen2, count: int, canvas: bool
) -> tuple[Callable[[], Tensor], Callable[[], Tensor], Buffer]:
    """Whole steps to the logits of all rows, of one session: a fifth clean rows, a canvas of four after each of them.
    Captured, and launch by launch; and the rows that both read.
    """
    rows = Rows()
    clean = max(1, count // 5) if canvas else count
    rows.add_clean(list(range(clean)), setting.context)
    while len(rows) < count:
        after = setting.context + len(rows) % clean
        rows.add_canvas([MASK] * min(4, count - len(rows)), after=after)
    shape = BatchShape(count, 1, canvas)
    buffer = Buffer(shape, model.device)
    cache = setting.cache(model, setting.context)
    buffer.fill([(cache, rows)])

    @torch.inference_mode()
    def launch() -> Tensor:
        assert cache  # or its pages are another's
        return model.head(model.layers(buffer.rows, shape))

    return torch.inference_mode()(lambda: model.graphs(buffer, launch)), launch, buffer
