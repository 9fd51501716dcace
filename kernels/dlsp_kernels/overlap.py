"""Programmatic dependent launch: programs of a kernel start while the kernel before it still runs.

NVIDIA GPUs can do this from compute capability 9.0 on ("Programmatic Dependent Launch" in the CUDA C++ Programming
Guide). A step is hundreds of short kernels: the start of each, and the load of its first weights, is hidden behind the
kernel before.
"""

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait
from triton.language.target_info import cuda_capability_geq

from dlsp_kernels.project import INTERPRETED

# The bytes of a cache line.
LINE = tl.constexpr(128)

# The most bytes of its weights that a program prefetches before it waits. For all programs together this is about what
# the memory delivers while a kernel runs, and a fraction of the L2 cache.
AHEAD = tl.constexpr(64 * 1024)

# False launches the kernels one after the other; `bench.gpu` measures both.
wanted = True


def early() -> dict[str, bool]:
    """The launch options of each kernel of a step. Each kernel must call `wait` before it touches anything but weights,
    so that memory is read and written in order.

    Multiplications are not fused with additions: whether they are would depend on the code around them, with an update
    or without, and a row's bits with it.
    """
    overlapped = {"launch_pdl": True} if wanted and cuda_capability_geq(9, 0) else {}
    return {"enable_fp_fusion": False} | overlapped


@triton.jit
def wait():
    """Wait until the kernels before are done and their writes can be read."""
    if not INTERPRETED and cuda_capability_geq(9, 0):
        gdc_wait()


@triton.jit
def release():
    """Let the next kernel start when all programs of this one have come here: behind most of their work, or up to ten
    kernels wait on the device at once, and hold up the one that runs (`docs/notes/gpu.md`). What these programs still
    write it waits for by itself.
    """
    if not INTERPRETED and cuda_capability_geq(9, 0):
        gdc_launch_dependents()


@triton.jit
def fetch(data, n, first, last, N, K, FORMAT: tl.constexpr, BLOCK_N: tl.constexpr):
    """Prefetch weights into the L2 cache: of the rows n [BLOCK_N] of data [N, K], the inputs first … last - 1.

    At most AHEAD bytes are prefetched. This may come before `wait`, since no kernel writes weights.
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
