"""`swiglu_quantise` for narrow steps, where every call costs more than its arithmetic."""

import numpy as np
from numba import njit
from torch import Tensor, from_numpy

from dlsp_kernels.hadamard.reference import group_size


def swiglu_quantise(y: Tensor, y_scale: Tensor, ff: int, levels: int) -> tuple[Tensor, Tensor]:
    q, scale = _run(y.numpy(), y_scale.numpy(), ff, group_size(ff), np.float32(levels))
    return from_numpy(q), from_numpy(scale)


@njit(cache=True, fastmath=True, nogil=True, error_model="numpy")
def _run(y, y_scale, ff, size, levels):
    rows = len(y)
    q, scale, h = np.empty((rows, ff), np.uint8), np.empty((rows, 1), np.float32), np.empty(ff, np.float32)
    for r in range(rows):
        _swiglu(y[r, :ff], y[r, ff : 2 * ff], y_scale[r, 0], h)
        _butterflies(h, size)
        largest = np.float32(1e-10)
        for i in range(ff):
            largest = max(largest, abs(h[i]))
        # The matrix is orthogonal, the butterflies are not: its factor goes into the scale alone.
        scale[r, 0] = largest / (levels * np.sqrt(np.float32(size)))
        factor, zero = levels / largest, levels + np.float32(1)
        for i in range(ff):
            q[r, i] = np.uint8(np.int32(np.rint(h[i] * factor) + zero))
    return q, scale


@njit(cache=True, fastmath=True, nogil=True, error_model="numpy")
def _swiglu(gate, up, scale, h):
    for i in range(len(h)):
        g = gate[i] * scale
        # exp(-g) as a short series of g / 256, squared eight times: plain products make vectors, and its error of
        # 1e-4 is far below what quantisation leaves.
        e = min(max(-g, np.float32(-60)), np.float32(60)) * np.float32(1 / 256)
        e = np.float32(1) + e * (
            np.float32(1) + e * (np.float32(1 / 2) + e * (np.float32(1 / 6) + e * np.float32(1 / 24)))
        )
        for _ in range(8):
            e *= e
        h[i] = g / (np.float32(1) + e) * (up[i] * scale)


@njit(cache=True, fastmath=True, nogil=True, error_model="numpy")
def _butterflies(h, size):
    """`hadamard` without its factor: sums and differences of whole runs of neighbours."""
    run, half = len(h) // size, 1
    while half < size:
        for start in range(0, size, 2 * half):
            left = h[start * run : (start + half) * run]
            right = h[(start + half) * run : (start + 2 * half) * run]
            for i in range(len(left)):
                a, b = left[i], right[i]
                left[i] = a + b
                right[i] = a - b
        half *= 2
