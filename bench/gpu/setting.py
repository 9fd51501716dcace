"""What the parts of `python -m bench.gpu` share: the device, the models, the clock, the floor."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from bench.gpu.shapes import SHAPES, blank, filled
from dlsp_engine.engine import Engine
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.gpu.pool import PagedCache
from dlsp_engine.model.gpu.step import GpuQwen2
from dlsp_engine.model.weights import Weights
from dlsp_engine.text.tokenizer import ByteTokenizer, ModelTokenizer, Tokenizer

Sample = dict[str, Any]

HEAT_SECONDS = 0.2

# Of random adapters, as of the real one.
RANK = 32


class AnyTokenizer(ByteTokenizer):
    """For models with random weights: every token is a byte, or a letter, and none ends a gap."""

    stops = frozenset()

    def token_bytes(self, token: int) -> bytes:
        return super().token_bytes(token) or b"x"


@dataclass(frozen=True)
class Setting:
    """`rehearse` runs the same code on a CPU with tiny models; `warm` launches what is measured once. `weights` is a
    folder of converted 0.5B weights.
    """

    rehearse: bool = False
    warm: bool = False
    weights: Path | None = None
    adapter: Path | None = None
    gaps: Path | None = None

    @property
    def device(self) -> str:
        return "cpu" if self.rehearse else "cuda"

    @property
    def context(self) -> int:
        return 40 if self.rehearse else 1024

    def is_real(self, name: str) -> bool:
        return name == "0.5b" and self.weights is not None

    def model(
        self, name: str, dtype: torch.dtype = torch.bfloat16, format: str = "dense", pages: int = 512
    ) -> GpuQwen2:
        """`name` of `SHAPES`; real weights where there are, else random ones."""
        adapter: Adapter | None = None
        if self.is_real(name):
            assert self.weights
            weights = Weights.load(self.weights, dtype)
            if self.adapter:
                with safe_open(self.adapter, framework="pt") as file:
                    base = (file.metadata() or {}).get("base", "")
                adapter = Adapter.load(self.adapter, base, weights.architecture, dtype)
        else:
            shape = SHAPES["tiny" if self.rehearse else name]
            weights = filled(blank(shape, dtype, self.device))
            adapter = Adapter.random(shape, RANK, scale=0.1)
            adapter.mask_embedding = adapter.mask_embedding.to(dtype)
        fused = not self.rehearse
        model = GpuQwen2(weights, adapter, self.device, fused, format, min(pages, 400) if self.rehearse else pages)
        model.pool.kv.normal_()  # zeros would be faster than what is real
        return model

    def engine(self, name: str, model: GpuQwen2) -> Engine:
        tokenizer: Tokenizer = AnyTokenizer()
        if self.is_real(name):
            assert self.weights
            tokenizer = ModelTokenizer(self.weights)
        return Engine(model, tokenizer)

    def cache(self, model: GpuQwen2, length: int) -> PagedCache:
        """As if so many positions had been read."""
        cache = model.new_cache()
        cache.reserve(length)
        cache.length = length
        return cache

    def milliseconds(self, step: Callable[[], Any], repeats: int = 50) -> list[float]:
        """Of each call, by the device's clock, after four that do not count."""
        if self.rehearse or self.warm:
            return [1e3 * clocked(step) for _ in range(2 if self.rehearse else 1)]
        step()  # which may capture: a pause for the device
        self.heat()
        for _ in range(3):
            step()
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repeats)]
        for start, end in events:
            start.record()
            step()
            end.record()
        torch.cuda.synchronize()
        return [start.elapsed_time(end) for start, end in events]

    def median_ms(self, step: Callable[[], Any], repeats: int = 50) -> float:
        return statistics.median(self.milliseconds(step, repeats))

    def heat(self) -> None:
        """Keep the device busy: its clock is low after a pause, such as a compilation."""
        if self.rehearse or self.warm:
            return
        x = torch.randn(4096, 4096, device=self.device).bfloat16()
        began = time.perf_counter()
        while time.perf_counter() - began < HEAT_SECONDS:
            torch.mm(x, x)
            torch.cuda.synchronize()

    def wait(self) -> None:
        """Until the device has done what it was given."""
        if not self.rehearse:
            torch.cuda.synchronize()

    def bytes_per_ms(self) -> float:
        """The rate of a copy much larger than any cache, bytes read and written."""
        source = torch.empty(
            1_000_000 if self.rehearse or self.warm else 2_000_000_000, dtype=torch.int8, device=self.device
        )
        source.random_()
        target = torch.empty_like(source)
        return 2 * source.nbytes / self.median_ms(lambda: target.copy_(source), 20)


def clocked(step: Callable[[], Any]) -> float:
    """Seconds."""
    began = time.perf_counter()
    step()
    return time.perf_counter() - began
