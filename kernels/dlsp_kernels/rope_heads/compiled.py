"""`rope_heads` for narrow steps, where every call costs more than its arithmetic."""

import numpy as np
from numba import njit
from torch import Tensor, from_numpy


def rope_heads(
    y: Tensor, y_scale: Tensor, bias: Tensor, cos: Tensor, sin: Tensor, heads: int, kv_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    given = (y.numpy(), y_scale.numpy(), bias.numpy(), cos.numpy(), sin.numpy())
    qkv = from_numpy(_run(*given, heads, kv_heads))
    return qkv[:, :heads], qkv[:, heads : heads + kv_heads], qkv[:, heads + kv_heads :]


@njit(cache=True, fastmath=True, nogil=True, error_model="numpy")
def _run(y, y_scale, bias, cos, sin, heads, kv_heads):
    rows, half = len(y), cos.shape[2]
    all_heads, rotated = heads + 2 * kv_heads, heads + kv_heads
    out = np.empty((rows, all_heads, 2 * half), np.float32)
    for r in range(rows):
        s = y_scale[r, 0]
        for h in range(all_heads):
            at = h * 2 * half
            for i in range(half):
                a = y[r, at + i] * s + bias[at + i]
                b = y[r, at + half + i] * s + bias[at + half + i]
                if h < rotated:
                    a, b = a * cos[r, 0, i] - b * sin[r, 0, i], b * cos[r, 0, i] + a * sin[r, 0, i]
                out[r, h, i] = a
                out[r, h, half + i] = b
    return out
