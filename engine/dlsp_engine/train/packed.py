"""Clean forward passes of several gaps packed into one row of tokens, in which each gap sees only itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.weights import Layer, Weights
from dlsp_engine.train.fills import Fill
from dlsp_engine.train.model import Low, behind_attention, heads, norm
from dlsp_kernels.rope.reference import rope_table

# The least share of a group's longest gap that the others of the group have.
GROUP_SHARE = 0.7


@dataclass(frozen=True)
class Packed:
    """Several gaps, one after the other. Behind the last one may be rows that stand for nothing. Tensors are int64."""

    ids: Tensor  # [rows]: tokens of prompts and answers
    positions: Tensor  # [rows]: each within its gap
    rows: Tensor  # [answer tokens]: the indices of the rows that predict the answers' tokens
    targets: Tensor  # [answer tokens]: these tokens
    sizes: list[int]  # by gap: how many rows it has, its prompt's included

    @classmethod
    def of(cls, fills: Sequence[Fill], device: torch.device, least: int = 0) -> "Packed":
        """Pack the gaps, with as many rows that stand for nothing as are missing to `least`."""
        ids: list[int] = []
        positions: list[int] = []
        rows: list[int] = []
        sizes: list[int] = []
        for fill in fills:
            tokens = fill.prompt + fill.answer[:-1]
            rows += range(len(ids) + len(fill.prompt) - 1, len(ids) + len(tokens))
            ids += tokens
            positions += range(len(tokens))
            sizes.append(len(tokens))
        targets = [token for fill in fills for token in fill.answer]
        missing = [0] * max(0, least - len(ids))

        def put(values: list[int]) -> Tensor:
            return torch.tensor(values, device=device)

        return cls(put(ids + missing), put(positions + missing), put(rows), put(targets), sizes)

    @cached_property
    def groups(self) -> tuple[list[Tensor], Tensor]:
        """Gaps of similar lengths side by side, for attention in few launches: the row numbers [gaps, longest] of each
        group, in which a shorter gap's last row is repeated; and where each of the packed rows stands in all groups,
        one after the other.
        """
        order = sorted(range(len(self.sizes)), key=lambda number: -self.sizes[number])
        starts = list(accumulate(self.sizes, initial=0))
        grouped: list[list[int]] = []
        for number in order:
            if not grouped or self.sizes[number] < GROUP_SHARE * self.sizes[grouped[-1][0]]:
                grouped.append([])
            grouped[-1].append(number)
        tables: list[Tensor] = []
        places, before = torch.zeros(len(self.ids), dtype=torch.long), 0
        for numbers in grouped:
            longest = self.sizes[numbers[0]]
            for number in numbers:
                start, size = starts[number], self.sizes[number]
                places[start : start + size] = torch.arange(before, before + size)
                before += longest
            first = torch.tensor([[starts[number]] for number in numbers])
            last = torch.tensor([[self.sizes[number] - 1] for number in numbers])
            tables.append((first + torch.arange(longest).minimum(last)).to(self.ids.device))
        return tables, places.to(self.ids.device)


def one_by_one(q: Tensor, k: Tensor, v: Tensor, packed: Packed) -> Tensor:
    """Attend within each gap: queries, keys and values [1, heads, rows, head_dim] -> [1, rows, heads * head_dim]."""
    parts = zip(*(t.split(packed.sizes, 2) for t in (q, k, v)), strict=True)
    attended = [F.scaled_dot_product_attention(*part, is_causal=True, enable_gqa=True) for part in parts]
    return torch.cat(attended, 2).transpose(1, 2).flatten(2)


def in_groups(q: Tensor, k: Tensor, v: Tensor, packed: Packed) -> Tensor:
    """The same by one call for each group of gaps of similar lengths. A row sees what is before it, so the repeated
    rows behind a gap's end change nothing.
    """
    tables, places = packed.groups
    by_row, attended = [t[0].transpose(0, 1) for t in (q, k, v)], list[Tensor]()
    for table in tables:
        q, k, v = (t.index_select(0, table.flatten()).unflatten(0, table.shape).transpose(1, 2) for t in by_row)
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        attended.append(found.transpose(1, 2).flatten(2).flatten(0, 1))
    return torch.cat(attended).index_select(0, places)[None]


@dataclass(frozen=True)
class Way:
    """How the parts of a layer are computed. `has_one_size`: all forward passes should have the same number of rows."""

    attend: Callable[[Tensor, Tensor, Tensor, Packed], Tensor]
    heads: Callable[[Architecture, Layer, Low, Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]] = heads
    behind: Callable[[Architecture, Layer, Low, Tensor, Tensor], Tensor] = behind_attention
    has_one_size: bool = False

    def compiled(self) -> "Way":
        """The same with all but attention compiled."""
        compiled = torch.compile(heads, dynamic=False), torch.compile(behind_attention, dynamic=False)
        return Way(self.attend, *compiled, has_one_size=True)


PLAIN, GROUPED = Way(one_by_one), Way(in_groups)


def way(device: torch.device, compiled: bool) -> Way:
    """The way of a device. On a CPU a call for each gap costs nothing."""
    found = PLAIN if device.type == "cpu" else GROUPED
    return found.compiled() if compiled else found


def hidden(weights: Weights, lows: list[Low], packed: Packed, way: Way = PLAIN) -> Tensor:
    """Return hidden states [rows, dim] of `packed.rows`, ready for the output head; gradients flow into `lows`."""
    shape = weights.architecture
    x = weights.embedding[packed.ids][None]
    with x.device:  # the table creates tensors on the default device
        table = rope_table(packed.positions, shape.head_dim, shape.theta, shape.rope_divisors)
    cos, sin = (t.view(1, len(packed.ids), 1, -1) for t in table)
    for layer, low in zip(weights.layers, lows, strict=True):
        q, k, v = way.heads(shape, layer, low, x, cos, sin)
        x = way.behind(shape, layer, low, x, way.attend(q, k, v, packed))
    return norm(x[0, packed.rows], weights.norm, weights.norm_bias, shape.eps)


def backward(hidden: Tensor, embedding: Tensor, targets: Tensor, weights: Tensor, chunk: int, scale: float) -> float:
    """Return the weighted mean cross-entropy, and backpropagate `scale` times its gradient through `hidden`. Logits are
    computed for `chunk` rows at a time.
    """
    given, gradient, loss = hidden.detach(), torch.empty_like(hidden), torch.zeros((), device=hidden.device)
    share = weights / weights.sum()
    for at in range(0, len(given), chunk):
        part = slice(at, at + chunk)
        logits = F.linear(given[part], embedding).float()
        total = logits.logsumexp(-1, keepdim=True)
        aim, mass = targets[part, None], share[part, None]
        loss = loss + ((total - logits.gather(1, aim)) * mass).sum()
        # Cross-entropy's gradient is the prediction minus the target; in place, since this is the largest tensor.
        slope = logits.sub_(total).exp_().mul_(mass).scatter_add_(1, aim, -mass)
        gradient[part] = slope.to(embedding.dtype) @ embedding
    hidden.backward(gradient * scale)
    return float(loss)
