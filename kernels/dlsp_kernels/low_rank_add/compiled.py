"""`low_rank_add` for narrow steps: each weight is widened once for all rows, in blocks that stay in cache."""

import numpy as np
from numba import njit
from torch import Tensor

BLOCK = 512


def low_rank_add(y: Tensor, canvas: slice | Tensor, ends: list[int], b: Tensor, b_scale: Tensor) -> None:
    rows = np.arange(canvas.start, canvas.stop) if isinstance(canvas, slice) else canvas.numpy()
    _run(y.numpy(), rows, np.array(ends), b.numpy(), b_scale.numpy())


@njit(cache=True, fastmath=True, nogil=True, error_model="numpy")
def _run(y, rows, ends, b, b_scale):
    rank, outputs, start = len(b), ends[-1], 0
    sums, wide = np.empty((len(rows), BLOCK), np.float32), np.empty(BLOCK, np.float32)
    for part in range(len(ends)):
        given = outputs + part * rank
        for left in range(start, ends[part], BLOCK):
            width = min(BLOCK, ends[part] - left)
            sums[:] = np.float32(0)
            for k in range(rank):
                _widen(b[k, left : left + width], wide)
                for r in range(len(rows)):
                    _add(sums[r, :width], y[rows[r], given + k], wide)
            for r in range(len(rows)):
                _add_scaled(y[rows[r], left : left + width], sums[r], b_scale[left : left + width])
        start = ends[part]


@njit(cache=True, fastmath=True, nogil=True, error_model="numpy")
def _widen(b, wide):
    for i in range(len(b)):
        wide[i] = np.float32(b[i])


@njit(cache=True, fastmath=True, nogil=True, error_model="numpy")
def _add(sums, factor, wide):
    for i in range(len(sums)):
        sums[i] += factor * wide[i]


@njit(cache=True, fastmath=True, nogil=True, error_model="numpy")
def _add_scaled(y, sums, scale):
    for i in range(len(y)):
        y[i] += sums[i] * scale[i]
