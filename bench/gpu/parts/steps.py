"""What a step costs by its rows, beside the floor: its weights read once at the rate of a copy."""

import torch

from bench.gpu.setting import Sample, Setting
from dlsp_engine.model.gpu.loop import CANDIDATES
from dlsp_engine.model.gpu.packing import Buffer, Shape
from dlsp_engine.model.gpu.step import GpuQwen2
from dlsp_engine.model.rows import MASK, Rows

ROWS = (1, 2, 5, 8, 16, 25, 32, 64, 128)


def run(setting: Setting, name: str, format: str = "dense") -> list[Sample]:
    model = setting.model(name, format=format)
    rate = setting.bytes_per_ms()
    found: list[Sample] = []
    for count in (1, 5) if setting.rehearse else ROWS:
        canvas = count > 1
        size = model.weights.bytes(canvas)
        sample = {"name": f"{name} {format} {count} rows", "rows": count, "canvas": canvas, "floor_ms": size / rate}
        sample |= {"copy_GB_s": rate / 1e6, "weights_MB": size / 1e6, "real_weights": setting.is_real(name)}
        median = setting.median_ms(step(setting, model, count, canvas))
        again = setting.median_ms(step(setting, model, count, canvas))
        if canvas:
            sample["candidates_ms"] = setting.median_ms(step(setting, model, count, canvas, CANDIDATES))
        found.append(sample | {"ms": median, "again_ms": again, "of_floor": median * rate / size})
    one = found[0]["ms"]
    for sample in found:
        sample |= {"of_one_row": sample["ms"] / one, "replaced": model.failures, "graphs": len(model.graphs)}
    return found


@torch.inference_mode()
def step(setting: Setting, model: GpuQwen2, count: int, canvas: bool, candidates: int = 1):
    """Whole steps, head included, of one session: a fifth clean rows, a canvas of four after each of them."""
    rows = Rows()
    clean = max(1, count // 5) if canvas else count
    rows.add_clean(list(range(clean)), setting.context)
    while len(rows) < count:
        after = setting.context + len(rows) % clean
        rows.add_canvas([MASK] * min(4, count - len(rows)), after=after)
    shape = Shape(count, 1, canvas)
    buffer = Buffer(shape, model.device)
    buffer.fill([(setting.cache(model, setting.context), rows)])

    def launch() -> object:
        hidden = model.layers(buffer.rows, canvas)
        return model.ops.top_tokens(hidden, model.weights.head, model.weights.norm, model.shape.eps, candidates)

    key = object()
    return torch.inference_mode()(lambda: model.graphs(key, launch))
