"""Captures the layers of a CPU step, and replays them without Python.

A step is hundreds of native kernels, most of which take less time than the Python code between two of them.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock

import torch
from torch import Tensor

from dlsp_engine.backend import leave_if_asked
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.attention import Attention
from dlsp_kernels.canvas_attention.compiled import CompiledAttention
from dlsp_kernels.canvas_attention.source import Place
from dlsp_kernels.program.capture import Capture, Memory
from dlsp_kernels.program.crew import workers

# The most rows of a captured step, and the most shapes that are remembered. A capture takes 43 kB with the 0.5B model,
# 74 kB with canvases.
MAX_ROWS, MAX_CAPTURES = 128, 256


@dataclass
class Inputs:
    """The inputs of the layers of a step."""

    x: Tensor  # float32 [rows, dim]: the residual stream, which the layers add to
    cos: Tensor  # float32 [rows, 1, head_dim / 2], as is `sin`
    sin: Tensor
    canvas: slice | Tensor | None  # as in `Packed`
    attend: Attention
    published: slice | Tensor | None = None  # as in `Packed`


class CapturedSteps:
    """Runs the layers of a step, by replay if a step of the same shape has been captured.

    The first step of a shape just runs, and the second is captured: a capture costs a quarter of a narrow step. All
    captures read their inputs from the same buffers.
    """

    def __init__(self, layers: Callable[[Inputs], Tensor], shape: Architecture) -> None:
        """`layers` returns the residual stream after the last layer. It must compute everything by native kernels,
        attention included, because only these are replayed.
        """
        self._run = layers
        self._x = torch.empty(MAX_ROWS, shape.dim)
        self._cos, self._sin = (torch.empty(MAX_ROWS, 1, shape.head_dim // 2) for _ in range(2))
        self._places = torch.empty(MAX_ROWS, len(Place._fields), dtype=torch.int64)
        self._memory, self._known = Memory(), OrderedDict[Hashable, Capture | None]()
        self._free = Lock()

    def __call__(self, inputs: Inputs) -> Tensor:
        """The residual stream after the last layer: float32 [rows, dim]."""
        if len(inputs.x) > MAX_ROWS or not self._free.acquire(blocking=False):  # another thread uses the buffers
            return self._run(inputs)
        try:
            return self._done(inputs).clone()
        finally:
            self._free.release()

    def _done(self, inputs: Inputs) -> Tensor:
        attend, rows = inputs.attend, len(inputs.x)
        assert isinstance(attend, CompiledAttention)
        shape = _rows(inputs), workers()
        if shape not in self._known:
            self._known[shape] = None
            if len(self._known) > MAX_CAPTURES:
                self._known.popitem(last=False)
            return self._run(inputs)
        self._known.move_to_end(shape)
        x, cos, sin, places = (every[:rows] for every in (self._x, self._cos, self._sin, self._places))
        for mine, given in ((x, inputs.x), (cos, inputs.cos), (sin, inputs.sin), (places, attend.places)):
            mine.copy_(given)
        if known := self._known[shape]:
            known.again(leave_if_asked)
            return x
        capture = Capture(self._memory)
        with capture.taken():
            self._run(Inputs(x, cos, sin, inputs.canvas, attend.of(places), inputs.published))
        self._known[shape] = capture
        return x


def _rows(inputs: Inputs) -> Hashable:
    """What a capture depends on among the inputs: the number of rows, and which of them have low-rank updates."""
    return len(inputs.x), _numbers(inputs.canvas), _numbers(inputs.published)


def _numbers(rows: slice | Tensor | None) -> Hashable:
    if isinstance(rows, Tensor):
        return True, tuple(rows.tolist())
    return rows and (False, rows.start, rows.stop)
