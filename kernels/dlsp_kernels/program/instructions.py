"""The vector instructions for which kernels are written."""

from dataclasses import dataclass
from enum import Enum, auto
from functools import cache

import llvmlite.binding as llvm
import torch

from dlsp_kernels.program.crew import crew


class Fours(Enum):
    """How an instruction multiplies the four bytes of each lane by four other bytes, and adds the products to a 32-bit
    sum.
    """

    VNNI = auto()  # all four at once; the first factor is unsigned
    PAIRS = auto()  # products are first added in pairs, in 16 bits; the first factor is unsigned
    SIGNED = auto()  # all four at once; both factors are signed


@dataclass(frozen=True)
class Instructions:
    """A set of vector instructions: `features` by LLVM's names, `lanes` of 32 bits per vector, `registers`
    for vectors.
    """

    name: str
    features: tuple[str, ...]
    lanes: int
    registers: int
    fours: Fours

    @property
    def levels(self) -> int:
        """The levels of activations, as in `quantise_rows`: 63, which are 7 bits, where two products are first added in
        16 bits; else 127.
        """
        return 63 if self.fours == Fours.PAIRS else 127

    def here(self) -> bool:
        """Whether kernels with these instructions can run on this machine.

        The processor must have the instructions, the crew must be available, and on x86-64 PyTorch must not have been
        limited to narrower vectors.
        """
        if self.fours == Fours.SIGNED:
            has = torch.cpu.get_capabilities().get("dot", False)  # LLVM does not report it
        else:
            features, used = llvm.get_host_cpu_features(), torch.backends.cpu.get_cpu_capability()
            wide = used.startswith("AVX512" if self.lanes == 16 else "AVX")
            has = wide and all(features.get(name) for name in self.features)
        return has and crew() is not None


AVX512_VNNI = Instructions("AVX-512 VNNI", ("avx512f", "avx512bw", "avx512vl", "avx512vnni"), 16, 32, Fours.VNNI)
AVX_VNNI = Instructions("AVX-VNNI", ("avx2", "fma", "avxvnni"), 8, 16, Fours.VNNI)
AVX2 = Instructions("AVX2", ("avx2", "fma"), 8, 16, Fours.PAIRS)
NEON = Instructions("NEON dot products", ("dotprod",), 4, 32, Fours.SIGNED)
ALL = (AVX512_VNNI, AVX_VNNI, AVX2, NEON)


@cache
def usable() -> Instructions | None:
    """The widest instructions that can run on this machine; None if no kernel can."""
    return next((each for each in ALL if each.here()), None)
