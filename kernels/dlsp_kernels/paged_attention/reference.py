"""Attention of many sessions' rows over their cache pages. What a row sees follows from its three numbers, see
`canvas_attention`.
"""

import torch
from torch import Tensor

from dlsp_kernels.canvas_attention.reference import attention_bias, canvas_attention
from dlsp_kernels.packed_rows import PackedRows, wide


def paged_attention(q: Tensor, keys: Tensor, values: Tensor, rows: PackedRows) -> Tensor:
    """q [rows, heads, d]; keys, values [pages, kv_heads, PAGE, d] -> [rows, heads * d] in q's dtype.

    This step's keys and values must already be in the pages. Unused rows, and rows that see nothing, give zeros.
    """
    out = torch.zeros(len(q), q.shape[1] * q.shape[2], dtype=q.dtype, device=q.device)
    groups = q.shape[1] // keys.shape[1]
    counts = zip(rows.length.tolist(), rows.first.tolist(), rows.count.tolist(), rows.table, strict=True)
    for length, first, count, table in counts:
        if not count:
            continue
        own = slice(first, first + count)
        numbers = torch.stack([rows.position[own], rows.visible[own], rows.canvas[own]]).cpu()
        seeing = torch.stack([(numbers[1] > 0) | (numbers[2] != 0)], 1).to(q.device)
        k, v = (pool[table].transpose(0, 1).flatten(1, 2)[:, : length + count] for pool in (keys, values))
        bias = attention_bias(numbers, length, length + count, groups, wide(q).dtype).to(q.device)
        attended = canvas_attention(wide(q[own]), wide(k), wide(v), bias)
        out[own] = torch.where(seeing, attended, 0).to(q.dtype)
    return out
