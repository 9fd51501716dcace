"""Attention of clean and canvas rows over one session's clean cache and the rows of this step.

Each row carries three numbers, and what it sees follows from them alone:

- its position,
- `visible`: it sees the clean positions below this number,
- `canvas`: 0 for a clean row; rows of one canvas see each other, in both directions. The negative of a canvas's number
  is that of an alternative, a clean row where another stands: it sees itself, and its canvas, if it has one, sees it.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

TILE = 64
"""Where keys come in as many whole tiles as a row's own place needs, and query rows in eights, a row's sums are done in
one order whatever comes beside it."""
EIGHT = 8


def attention_bias(
    numbers: Tensor, cached: int, keys: int, groups: int, dtype: torch.dtype, own: slice = slice(None)
) -> Tensor:
    """What is added to the scores of the rows `own`: 0 where a row sees a key, -inf elsewhere.

    numbers [3, rows]: positions, visible, canvas. Keys are the clean positions 0 … cached - 1, then all rows, then what
    no row sees; the first `keys` of these. Returns [at least groups * own rows, keys], a multiple of eight; query heads
    of a group one after the other.
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

    Query heads that share a key head become extra rows of it, so keys are never copied.
    """
    rows, heads, d = q.shape
    kv_heads, groups = len(k), heads // len(k)
    folded = q.view(rows, kv_heads, groups, d).permute(1, 2, 0, 3).reshape(1, kv_heads, -1, d)
    folded = F.pad(folded, (0, 0, 0, len(bias) - groups * rows))
    out = F.scaled_dot_product_attention(folded, k[None], v[None], attn_mask=bias)[0, :, : groups * rows]
    return out.reshape(kv_heads, groups, rows, d).permute(2, 0, 1, 3).reshape(rows, heads * d)
