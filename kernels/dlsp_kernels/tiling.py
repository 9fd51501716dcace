"""How a matrix is cut into tiles for Triton programs: as measured on this kind of GPU (`tilings.json`), else by rules
that are estimates until `python -m bench.gpu` has measured them there.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from dlsp_kernels.matrix import GROUP, Matrix

PROCESSORS = 132
SHARED_BYTES = 227 * 1024

# Up to this many rows, a row's sums are the same to the bit in whatever step it is: all have one tiling, whose products
# are taken by instructions that treat the rows of a tile alike. Wider tiles take others.
EXACT_ROWS = 32

# A GPU's name -> for each matrix [outs, ins, format, rows of a tile, and the fields of `Tiling`].
MEASURED = Path(__file__).parent / "tilings.json"


@dataclass(frozen=True)
class Tiling:
    """A program computes a tile of m rows and n outputs, with k inputs at a time. `warps` and `stages` as in Triton."""

    m: int
    n: int
    k: int
    # The number of programs among which the inputs of one tile are divided. Their sums are added in a fixed order.
    splits: int = 1
    warps: int = 4
    stages: int = 3


def tiling(rows: int, weight: Matrix, divides: int = 0, splits: bool = False, whole: bool = False) -> Tiling:
    """The tiling for x [rows, ins] times `weight`.

    `divides`: a multiple of n, for example a head's size; 0 for any n. `whole`: n holds all of it. `splits`: whether
    the inputs may be divided.
    """
    processors, shared = device_limits()
    m = rows_of_tile(rows)
    if known := measured().get((weight.outs, weight.ins, weight.format, m)):
        return known
    k = GROUP if weight.format == "int4" else 64 if weight.dtype == torch.float32 or m == 128 else 128
    down = -(-rows // m)
    allowed = [size for size in (128, 64, 32, 16) if divides % size == 0] or [16]
    if whole:
        allowed = [max(16, 1 << (divides - 1).bit_length())]
    if splits and weight.ins >= 4 * weight.outs:
        n = next(size for size in allowed if size <= 64)
        tiles = down * -(-weight.outs // n)
        share = max(1, min(processors // tiles, weight.ins // 512))
    else:
        n = next((size for size in allowed if down * -(-weight.outs // size) >= processors), allowed[-1])
        tiles, share = down * -(-weight.outs // n), 1
    stage = k * (m * weight.dtype.itemsize + n * min(weight.dtype.itemsize, weight.data.dtype.itemsize))
    room = int(0.8 * shared)
    # More programs than processors share these, so that the last ones do not run alone, where each has two stages left.
    if tiles * share > processors and room // 2 >= 2 * stage:
        room //= 2
    stages = max(1, min(4, room // stage))
    return Tiling(m, n, k, share, 8 if m * n >= 32 * 64 or m >= 64 else 4, stages)


def rows_of_tile(rows: int) -> int:
    """How many rows a tile has, of a step with so many."""
    return EXACT_ROWS if rows <= EXACT_ROWS else 64 if rows <= 128 else 128


@cache
def measured() -> dict[tuple[int, int, str, int], Tiling]:
    """The fastest tilings measured on this kind of GPU, by outs, ins, format and rows of a tile; empty if none were."""
    if not (torch.cuda.is_available() and MEASURED.exists()):
        return {}
    entries = json.loads(MEASURED.read_text()).get(torch.cuda.get_device_name(), [])
    return {(outs, ins, form, m): Tiling(m, *rest) for outs, ins, form, m, *rest in entries}


@cache
def device_limits() -> tuple[int, int]:
    """(multiprocessors, bytes of shared memory per program) of the GPU; those of an H200 if there is none."""
    if not torch.cuda.is_available():
        return PROCESSORS, SHARED_BYTES
    found = torch.cuda.get_device_properties(0)
    return found.multi_processor_count, getattr(found, "shared_memory_per_block_optin", 99 * 1024)
