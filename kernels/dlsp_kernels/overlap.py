"""Programmatic dependent launch: programs of a kernel start while the kernel before still runs.

NVIDIA from compute capability 9.0 on ("Programmatic Dependent Launch" in the CUDA C++ Programming Guide). A step
is hundreds of short kernels: what each takes to start, and its first weights to come, is hidden behind the one before.
"""

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait
from triton.language.target_info import cuda_capability_geq

from dlsp_kernels.project import INTERPRETED

LINE = tl.constexpr(128)
"""Bytes of a line of the cache."""

AHEAD = tl.constexpr(64 * 1024)
"""Bytes of its weights that a program asks for at most before it waits: of all programs about what memory gives while
a kernel runs, and a fraction of the L2 cache.
"""

wanted = True
"""False launches kernels one after the other, which `bench.gpu` measures beside."""


def early() -> dict[str, bool]:
    """Options of each launch of a step. All kernels call `wait` first, so that memory is read and written in turn."""
    return {"launch_pdl": True} if wanted and cuda_capability_geq(9, 0) else {}


@triton.jit
def wait():
    """Until the kernels before are done and what they wrote can be read. The next kernel may start, and waits here."""
    if not INTERPRETED and cuda_capability_geq(9, 0):
        gdc_launch_dependents()
        gdc_wait()


@triton.jit
def fetch(data, n, first, last, N, K, FORMAT: tl.constexpr, BLOCK_N: tl.constexpr):
    """Have the L2 cache read weights n [BLOCK_N] of [N, K] for inputs first … last - 1, or the first of them: before
    `wait`, since no kernel writes weights.
    """
    if not INTERPRETED and cuda_capability_geq(9, 0):
        PACKED: tl.constexpr = 2 if FORMAT == "int4" else 1
        BYTES: tl.constexpr = data.dtype.element_ty.primitive_bitwidth // 8
        line = tl.arange(0, AHEAD // (LINE * BLOCK_N)) * LINE
        rows = data + n.to(tl.int64) * (K // PACKED) + first // PACKED
        at = rows.to(tl.int64)[:, None] + line[None, :]
        there = (n < N)[:, None] & (line < (last - first) // PACKED * BYTES)[None, :]
        tl.inline_asm_elementwise(
            "{ .reg .pred p; setp.ne.b32 p, $2, 0; @p prefetch.global.L2 [$1]; mov.b32 $0, 0; }",
            "=r,l,r",
            [at, there.to(tl.int32)],
            dtype=tl.int32,
            is_pure=False,
            pack=1,
        )
