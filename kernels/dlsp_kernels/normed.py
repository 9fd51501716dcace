"""The input of a projection behind an RMSNorm, as the op before the norm writes it."""

from dataclasses import dataclass

import torch
from torch import Tensor

from dlsp_kernels.packed_rows import wide

# Squares are summed as whole numbers of this part of 1: then a sum is the same in any order, to the bit. Sums of up to
# 5e11 fit into 64 bits.
UNIT = 2.0**-24


@dataclass(frozen=True)
class Normed:
    """An RMSNorm of x [rows, dim] whose division is left to the projection that follows: dividing a row by a number
    commutes with a product.
    """

    norm: Tensor  # [dim]: the norm's weights
    scaled: Tensor  # [rows, dim]: x times the weights, in the type of the product that follows
    squares: Tensor  # int64 [rows]: the sum of the squares of a row of x, in UNIT

    @classmethod
    def empty(cls, rows: int, norm: Tensor, dtype: torch.dtype, squares: Tensor | None = None) -> "Normed":
        """Room for `rows` rows that an op is to write. `squares` must be 0, and is made if it is not given."""
        scaled = torch.empty(rows, len(norm), dtype=dtype, device=norm.device)
        return cls(
            norm, scaled, torch.zeros(rows, dtype=torch.int64, device=norm.device) if squares is None else squares
        )

    def write(self, x: Tensor) -> None:
        """What an op does with its result x: the reference."""
        self.scaled.copy_(x * self.norm)
        self.squares.add_((x.square() / UNIT).long().sum(1))

    def values(self, eps: float) -> Tensor:
        """The RMSNorm [rows, dim], in float32 or float64."""
        mean = self.squares.to(wide(self.scaled).dtype) * (UNIT / self.scaled.shape[1])
        return wide(self.scaled) * torch.rsqrt(mean + eps)[:, None]

    def __len__(self) -> int:
        return len(self.scaled)
