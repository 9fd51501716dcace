"""Weight matrices as a GPU step reads them (dense, int8, fp8, or int4 in groups), and low-rank updates of them."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

FORMATS = ("dense", "int8", "fp8", "int4")

# The number of inputs that share a scale in int4. Byte i of a group holds input i (low 4 bits) and input i + GROUP / 2
# (high 4 bits).
GROUP = 64

LARGEST_FP8 = 448.0


@dataclass(frozen=True)
class Matrix:
    """Weights [outs, ins]. Products are computed in `dtype`, sums in float32.

    | format | data                                              | scale (float32)     |
    | ------ | ------------------------------------------------- | ------------------- |
    | dense  | [outs, ins] of `dtype`                            | None                |
    | int8   | int8 [outs, ins]                                  | [outs]              |
    | fp8    | uint8 [outs, ins], the bits of float8_e4m3fn      | [outs]              |
    | int4   | uint8 [outs, ins / 2], two values + 8 (see GROUP) | [outs, ins / GROUP] |
    """

    format: str
    data: Tensor
    scale: Tensor | None
    outs: int
    ins: int
    dtype: torch.dtype

    @classmethod
    def of(cls, weight: Tensor, format: str = "dense", dtype: torch.dtype | None = None) -> "Matrix":
        """Store weight [outs, ins] in a format. Products are computed in `dtype`, by default that of the weight.

        Raises ValueError for an unknown format, and for int4 if the number of inputs is not a multiple of GROUP.
        """
        dtype = dtype or weight.dtype
        outs, ins = weight.shape
        if format == "dense":
            return cls(format, weight.to(dtype).contiguous(), None, outs, ins, dtype)
        make = {"int8": _int8, "fp8": _fp8, "int4": _int4}.get(format)
        if make is None:
            raise ValueError(f"{format} is not one of {', '.join(FORMATS)}")
        data, scale = make(weight.float())
        return cls(format, data.contiguous(), scale.contiguous(), outs, ins, dtype)

    def dense(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """The weights [outs, ins] that data and scale represent."""
        if self.scale is None:
            return self.data.to(dtype)
        scale = self.scale.to(dtype)
        if self.format == "int8":
            return self.data.to(dtype) * scale[:, None]
        if self.format == "fp8":
            return self.data.view(torch.float8_e4m3fn).to(dtype) * scale[:, None]
        halves = torch.stack([self.data & 15, self.data >> 4], 1).view(self.outs, 2, -1, GROUP // 2)
        groups = halves.transpose(1, 2).reshape(self.outs, -1, GROUP)
        return ((groups.to(dtype) - 8) * scale[:, :, None]).view(self.outs, self.ins)

    @property
    def bytes(self) -> int:
        """The size of data and scale in bytes."""
        return self.data.nbytes + (0 if self.scale is None else self.scale.nbytes)


@dataclass(frozen=True)
class LowRankUpdate:
    """The low-rank update of a fused projection: y += (x aᵀ) bᵀ. The last `shared` columns of x aᵀ in each part count
    for all rows, the others for canvas rows alone.

    Each part of the outputs has `rank` rows of `a` of its own: a [parts * rank, ins]; b [outs, rank]; part i ends at
    output `ends[i]`. `rank` is a power of two, at least 16.
    """

    a: Tensor
    b: Tensor
    ends: tuple[int, ...]
    shared: int = 0

    @classmethod
    def of(cls, a: Tensor, b: Tensor, ends: tuple[int, ...], shared: int = 0) -> "LowRankUpdate":
        """An update from `a` and `b` of any rank, which is padded with zeros."""
        rank = b.shape[1]
        more = max(16, 1 << (rank - 1).bit_length()) - rank
        parts = a.view(len(ends), rank, -1)
        a, b = F.pad(parts, (0, 0, more, 0)).flatten(0, 1), F.pad(b, (more, 0))
        return cls(a.contiguous(), b.contiguous(), ends, shared)

    def beside(self, other: "LowRankUpdate") -> "LowRankUpdate":
        """This update of canvas rows and another one of all rows, as one update."""
        parts = [update.a.view(len(self.ends), update.rank, -1) for update in (self, other)]
        return self.of(torch.cat(parts, 1).flatten(0, 1), torch.cat([self.b, other.b], 1), self.ends, other.rank)

    @property
    def rank(self) -> int:
        return self.b.shape[1]


def _int8(weight: Tensor) -> tuple[Tensor, Tensor]:
    scale = weight.abs().amax(1).clamp_(min=1e-10) / 127
    return (weight / scale[:, None]).round_().to(torch.int8), scale


def _fp8(weight: Tensor) -> tuple[Tensor, Tensor]:
    scale = weight.abs().amax(1).clamp_(min=1e-10) / LARGEST_FP8
    return (weight / scale[:, None]).to(torch.float8_e4m3fn).view(torch.uint8), scale


def _int4(weight: Tensor) -> tuple[Tensor, Tensor]:
    outs, ins = weight.shape
    if ins % GROUP:
        raise ValueError(f"int4 takes inputs in groups of {GROUP}, not {ins}")
    groups = weight.view(outs, -1, GROUP)
    scale = groups.abs().amax(2).clamp_(min=1e-10) / 7
    q = ((groups / scale[:, :, None]).round_() + 8).to(torch.uint8)
    low, high = q.chunk(2, 2)
    return (low | (high << 4)).view(outs, ins // 2), scale
