"""Attention of clean and canvas rows over one session's cached keys and the rows of this step.

A clean row holds a token of the text, or a draft token to verify, and attends causally. A canvas is a run of masks (or
draft tokens) that attend to each other in both directions. An alternative is another token for a position that has a
clean row. What a row sees follows from three numbers:

- its position
- `visible`: it sees the clean positions below this number
- `canvas`: 0 for a clean row. The rows of canvas c > 0 see each other. The alternative of canvas c has the number -c:
  it sees itself, and the rows of canvas c see it.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

TILE = 64
"""Keys per tile. Two rules make a row's sums the same whatever else is in the step: the row gets as many whole tiles of
keys as its own position needs, and the number of query rows is rounded up to a multiple of EIGHT.
"""
EIGHT = 8


def attention_bias(
    numbers: Tensor, cached: int, keys: int, groups: int, dtype: torch.dtype, own: slice = slice(None)
) -> Tensor:
    """What to add to the scores of the rows `own`: 0 where a row sees a key, -inf elsewhere.

    numbers [3, rows]: position, visible, canvas. The keys are the clean positions 0 … cached - 1, then all rows of the
    step, then padding that no row sees; of these the first `keys`.

    Returns [groups * own rows, rounded up to a multiple of EIGHT, keys], one query head of a group after the other.
    """
    (positions, _, canvas), (_, visible, mine) = numbers, numbers[:, own]
    mine = mine[:, None]
    together = (mine != 0) & ((canvas == mine) | (mine > 0) & (canvas == -mine))
    new = ((canvas[None] == 0) & (positions[None] < visible[:, None])) | together
    old = torch.arange(cached)[None] < visible[:, None]
    seen = F.pad(torch.cat([old, new], 1), (0, keys - cached - len(positions)))
    bias = torch.zeros(seen.shape, dtype=dtype).masked_fill_(~seen, -torch.inf).repeat(groups, 1)
    return F.pad(bias, (0, 0, 0, -len(bias) % EIGHT))


def canvas_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    """q [rows, heads, d]; k, v [kv_heads, keys, d]; bias from `attention_bias` -> [rows, heads * d].

    Query heads that share a key head are treated as further query rows, so that keys are never copied.
    """
    rows, heads, d = q.shape
    kv_heads, groups = len(k), heads // len(k)
    folded = q.view(rows, kv_heads, groups, d).permute(1, 2, 0, 3).reshape(1, kv_heads, -1, d)
    folded = F.pad(folded, (0, 0, 0, len(bias) - groups * rows))
    out = F.scaled_dot_product_attention(folded, k[None], v[None], attn_mask=bias)[0, :, : groups * rows]
    return out.reshape(kv_heads, groups, rows, d).permute(2, 0, 1, 3).reshape(rows, heads * d)
