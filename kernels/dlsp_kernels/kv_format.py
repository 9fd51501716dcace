"""How a KV cache holds keys and values: as floats, or as integers with a scale for each row of a head.

Before they are quantised, keys and values must be multiplied by a Hadamard matrix (`hadamard`), so that no element of a
head is much larger than the others. Queries must then be multiplied by the same matrix as the keys.

This is the reference. The attention kernels do the same, to the bit, when they write and read a cache.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

# Rows whose scale would be smaller than this are zeros: 1 / scale might be infinite.
SMALLEST_SCALE = 1e-30


@dataclass(frozen=True)
class KvFormat:
    """`bits` of each number. With 8 or 4 bits a row of a head has a scale in bfloat16 too. With 16 (bfloat16) or 32
    (float32) it has none, and numbers are held as they are.
    """

    bits: int

    @property
    def quantised(self) -> bool:
        return self.bits <= 8

    @property
    def levels(self) -> int:
        """The largest integer; the smallest is its negative."""
        return 2 ** (self.bits - 1) - 1

    def tensors(self, *shape: int, d: int) -> list[Tensor]:
        """Zeros, as `store` returns them for x [*shape, d]."""
        if not self.quantised:
            return [torch.zeros(*shape, d, dtype=torch.float32 if self.bits == 32 else torch.bfloat16)]
        codes = torch.zeros(*shape, d * self.bits // 8, dtype=torch.int8)
        return [codes, torch.zeros(*shape, 1, dtype=torch.bfloat16)]

    def store(self, x: Tensor) -> list[Tensor]:
        """x [..., d] as the cache holds it: one tensor of floats; or codes int8 [..., d * bits / 8] and scales bfloat16
        [..., 1]. With 4 bits, byte i holds element i in its lower half and element d / 2 + i in its upper half.
        """
        if not self.quantised:
            return [x]
        scale = _up_to_bfloat16(x.float().abs().amax(-1, keepdim=True) / self.levels)
        inverse = torch.where(scale < SMALLEST_SCALE, 0.0, 1 / scale)
        codes = (x.float() * inverse).round().to(torch.int8)
        if self.bits == 4:
            lower, upper = codes.chunk(2, -1)
            codes = (lower & 15) | (upper << 4)
        return [codes, scale.bfloat16()]

    def load(self, stored: list[Tensor]) -> Tensor:
        """x, as a row of attention sees it: float32 if it was quantised."""
        if not self.quantised:
            return stored[0]
        codes, scale = stored
        if self.bits == 4:
            codes = torch.cat([(codes << 4) >> 4, codes >> 4], -1)
        return codes.float() * scale.float()


FLOAT32, BFLOAT16, INT8, INT4 = (KvFormat(bits) for bits in (32, 16, 8, 4))
KV_FORMATS = {"float32": FLOAT32, "int8": INT8, "int4": INT4}  # those that a CPU's integer steps can have, by name


def _up_to_bfloat16(x: Tensor) -> Tensor:
    """The smallest bfloat16 that is not less than x, for x >= 0; as float32."""
    return ((x.view(torch.int32) + 0xFFFF) & ~0xFFFF).view(torch.float32)
