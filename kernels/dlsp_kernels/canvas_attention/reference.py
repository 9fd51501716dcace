"""Attention of clean and canvas rows over one session's clean cache and the rows of this step.

Each row carries three numbers, and what it sees follows from them alone:

- its position,
- `visible`: it sees the clean positions below this number,
- `canvas`: 0 for a clean row; rows of one canvas see each other, in both directions.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def attention_bias(numbers: Tensor, cached: int, groups: int, dtype: torch.dtype) -> Tensor | None:
    """What is added to the scores: 0 where a row sees a key, -inf elsewhere; None when every row sees all.

    numbers [3, rows]: positions, visible, canvas. Keys are the clean positions 0 … cached - 1, then the rows
    themselves. Returns [groups * rows, cached + rows], query heads of a group one after the other.
    """
    positions, visible, canvas = numbers
    clean = canvas == 0
    own = (canvas[:, None] == canvas[None]) & ~clean[:, None]
    new = (clean[None] & (positions[None] < visible[:, None])) | own
    old = torch.arange(cached)[None] < visible[:, None]
    seen = torch.cat([old, new], 1)
    if bool(seen.all()):
        return None
    return torch.zeros(seen.shape, dtype=dtype).masked_fill_(~seen, -torch.inf).repeat(groups, 1)


def canvas_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
    """q [rows, heads, d]; k, v [kv_heads, keys, d]; bias from `attention_bias` -> [rows, heads * d].

    Query heads that share a key head become extra rows of it, so keys are never copied.
    """
    rows, heads, d = q.shape
    kv_heads = k.shape[0]
    folded = q.view(rows, kv_heads, heads // kv_heads, d).permute(1, 2, 0, 3).reshape(1, kv_heads, -1, d)
    out = F.scaled_dot_product_attention(folded, k[None], v[None], attn_mask=bias)
    return out.view(kv_heads, heads // kv_heads, rows, d).permute(2, 0, 1, 3).reshape(rows, heads * d)
