"""What a step costs by its rows, beside the floor: its weights read once at the rate of a copy. Of narrow steps also as
the engine runs them: to the scores of all rows, by one graph, beside the same by a graph to the hidden states.
"""

import statistics
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from bench.gpu.setting import Sample, Setting, clocked
from dlsp_engine.decode.scores import Summary, summary_columns
from dlsp_engine.model.gpu.buffers import BatchShape, Buffer
from dlsp_engine.model.gpu.step import GpuQwen2
from dlsp_engine.model.rows import MASK, Rows
from dlsp_kernels import overlap
from dlsp_kernels.ops import StepOps

ROWS = (1, 2, 5, 8, 16, 25, 32, 64, 128, 256, 512)

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
        sample |= to_scores(setting, model, buffer)
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
        found = model.graphs(key, lambda: (launch(),))[0].clone()
    finally:
        overlap.wanted = wanted
    differ = 0
    for _ in range(REPLAYS):
        buffer.rows.token.add_(1)
        captured()
        buffer.rows.token.sub_(1)
        differ += not torch.equal(captured(), found)
    in_turn = setting.median_ms(lambda: model.graphs(key, lambda: (launch(),)))
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

    return torch.inference_mode()(lambda: model.graphs(buffer, lambda: (launch(),))[0]), launch, buffer


@torch.inference_mode()
def to_scores(setting: Setting, model: GpuQwen2, buffer: Buffer) -> Sample:
    """Milliseconds by the clock of a step to the scores of all its rows, the transfer included: all by one graph, and
    with the head and the summary launched behind one.
    """
    shape = buffer.shape
    if not shape.narrow:
        return {}
    one, behind = object(), object()

    def one_graph() -> None:
        Summary.of(model.graphs(one, lambda: model.to_scores(buffer.rows, shape))[1])

    def head_behind() -> None:
        (hidden,) = model.graphs(behind, lambda: (model.layers(buffer.rows, shape),))
        Summary.of(summary_columns(model.head(hidden), shape.canvas))

    times: dict[str, list[float]] = {}
    for step in (one_graph, head_behind, one_graph, head_behind):
        step()
        setting.heat()
        times.setdefault(step.__name__, []).extend(1e3 * clocked(step) for _ in range(2 if setting.rehearse else 30))
    return {f"{name}_ms": statistics.median(found) for name, found in times.items()}
