"""The vector instructions that programs are written for."""

from dataclasses import dataclass
from enum import Enum, auto
from functools import cache

import llvmlite.binding as llvm
import torch

from dlsp_kernels.program.crew import crew


class Fours(Enum):
    """How four bytes of each lane are multiplied by four others and added to a sum of 32 bits."""

    VNNI = auto()  # at once, of which the first have no sign
    PAIRS = auto()  # by twos first, in 16 bits; the first have no sign
    SIGNED = auto()  # at once, and both have signs


@dataclass(frozen=True)
class Instructions:
    """The processor's `features`, by LLVM's names, `lanes` of 32 bits of a vector, and how many `registers` it has."""

    name: str
    features: tuple[str, ...]
    lanes: int
    registers: int
    fours: Fours

    @property
    def levels(self) -> int:
        """Of activations, as in `quantise_rows`: two products of more than 7 bits may not fit into 16."""
        return 63 if self.fours == Fours.PAIRS else 127

    def here(self) -> bool:
        """Whether programs of them can run: the processor has them, PyTorch was not told to do without vectors so wide
        (which it can be on x86-64), and there are threads for them.
        """
        if self.fours == Fours.SIGNED:
            has = torch.cpu.get_capabilities().get("dot", False)  # LLVM does not tell
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
    """The widest that are here; None where no program can run."""
    return next((each for each in ALL if each.here()), None)
