"""The vector instructions that programs are written for."""

from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm
import torch

from dlsp_kernels.program.crew import crew


@dataclass(frozen=True)
class Instructions:
    """The processor's `features`, by LLVM's names, the `lanes` of 32 bits of a vector, and the number of `registers`.
    `vnni`: fours of bytes are multiplied and added in one instruction.
    """

    name: str
    features: tuple[str, ...]
    lanes: int
    registers: int
    vnni: bool

    def here(self) -> bool:
        """Whether programs of them can run: the processor has them, PyTorch was not told to do without vectors so wide,
        and there are threads for them.
        """
        features, used = llvm.get_host_cpu_features(), torch.backends.cpu.get_cpu_capability()
        wide = used.startswith("AVX512" if self.lanes == 16 else "AVX")
        return wide and all(features.get(name) for name in self.features) and crew() is not None


AVX512_VNNI = Instructions("AVX-512 VNNI", ("avx512f", "avx512bw", "avx512vl", "avx512vnni"), 16, 32, vnni=True)
AVX_VNNI = Instructions("AVX-VNNI", ("avx2", "fma", "avxvnni"), 8, 16, vnni=True)
AVX2 = Instructions("AVX2", ("avx2", "fma"), 8, 16, vnni=False)
ALL = (AVX512_VNNI, AVX_VNNI, AVX2)


@cache
def usable() -> Instructions | None:
    """The widest that are here; None where no program can run."""
    return next((each for each in ALL if each.here()), None)
