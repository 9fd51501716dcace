"""The 4-bit matrix: its kernel against the reference to the bit, and what rounding to 4 bits loses."""

import ctypes
import re

import llvmlite.binding as llvm
import pytest
import torch

from dlsp_kernels.int4_linear.compiled import CompiledMatrix, pack
from dlsp_kernels.int4_linear.reference import (
    GROUP,
    MOST_CODE,
    MOST_STEP,
    MOST_WEIGHT,
    FourBits,
    int4_linear,
    quantise_four_bits,
)
from dlsp_kernels.int4_linear.source import AHEAD, GROUP_BYTES, HALF, rows_by_codes, source
from dlsp_kernels.int8_linear.compiled import Compiled
from dlsp_kernels.int8_linear.source import LINE, VECTORS, block_size, rows_at_once
from dlsp_kernels.program.instructions import AVX2, AVX512_VNNI, AVX_VNNI, NEON, Instructions
from dlsp_kernels.program.machine_code import machine_code
from dlsp_kernels.quantise.reference import quantise_rows
from tests.kernels.programs import KINDS

SHAPES = [(64, 32), (100, 64), (37, 96), (1, 32), (1248, 896), (928, 4864)]


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def any_weight(outs: int, ins: int) -> FourBits:
    """Every code, step and minimum that there may be; the last output has the largest sums."""
    step = torch.randint(1, MOST_STEP + 1, (outs, ins // GROUP), dtype=torch.uint8)
    room = 2 * MOST_WEIGHT - MOST_CODE * step.float()
    minimum = ((torch.rand(step.shape) * (room + 1)).floor().clamp(max=room) - MOST_WEIGHT).to(torch.int8)
    codes = torch.randint(0, MOST_CODE + 1, (outs, ins), dtype=torch.uint8)
    codes[-1], step[-1], minimum[-1] = MOST_CODE, MOST_STEP, MOST_WEIGHT - MOST_CODE * MOST_STEP
    return FourBits(codes, step, minimum, torch.rand(outs))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("outs", "ins"), SHAPES)
def test_the_kernel_is_exact_for_any_rows(kind: Instructions, outs: int, ins: int, threads: int, threads_after: None):
    torch.set_num_threads(threads)
    weight, zero = any_weight(outs, ins), kind.levels + 1
    matrix = CompiledMatrix(pack(weight, kind), weight.scale, kind)
    x = torch.randint(1, 2 * zero, (33, ins), dtype=torch.uint8)
    x[0], x[1] = 2 * zero - 1, 1
    wanted = ((x.double() - zero) @ weight.expanded().double().T).float() * weight.scale
    for rows in (0, 1, 2, 3, 4, 5, 6, 7, 13, 33):
        assert torch.equal(matrix(x[:rows]), wanted[:rows]), rows
    assert torch.equal(matrix(torch.stack([x, x], 1)[:, 0]), wanted), "rows that are not contiguous"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_it_has_the_bits_of_int8_on_the_expanded_weights(kind: Instructions):
    weight = quantise_four_bits(torch.randn(96, 128))
    x, _ = quantise_rows(torch.randn(9, 128), kind.levels)
    four, eight = CompiledMatrix(pack(weight, kind), weight.scale, kind), Compiled(kind)
    assert torch.equal(four(x), eight.matrix(eight.pack(weight.expanded()), weight.scale)(x))
    torch.testing.assert_close(four(x), int4_linear(x, weight, kind.levels), rtol=1e-5, atol=1e-3)


def test_inputs_that_make_no_groups_are_refused():
    codes = torch.zeros(8, 48, dtype=torch.uint8)
    with pytest.raises(ValueError, match="groups of 32"):
        pack(FourBits(codes, codes, codes, torch.zeros(8)), AVX2)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_codes_of_another_matrix_are_refused(kind: Instructions):
    weight = quantise_four_bits(torch.randn(100, 64))
    packed = pack(weight, kind)
    for wrong, scale in ((packed[1:], weight.scale), (packed[:, :, 1:], weight.scale), (packed, weight.scale[:10])):
        with pytest.raises(ValueError, match="another matrix"):
            CompiledMatrix(wrong, scale, kind)


def test_rounding_loses_what_four_bits_lose():
    """A step is a fifteenth of a group's range: its error is at most half, but for whole-number steps and minima."""
    weight = torch.randn(50, 256) * torch.rand(50, 1)
    found = quantise_four_bits(weight)
    error = found.expanded().float() * found.scale[:, None] - weight
    groups = weight.unflatten(1, (-1, GROUP))
    size = (groups.amax(2) - groups.amin(2)) / MOST_CODE
    assert (error.unflatten(1, (-1, GROUP)).square().mean(2).sqrt() < 0.42 * size).all()
    assert error.norm() / weight.norm() < 0.09
    assert found.codes.max() == MOST_CODE
    assert found.expanded().abs().max() <= MOST_WEIGHT


@pytest.mark.parametrize("weight", [torch.zeros(3, 64), torch.full((3, 64), -7.5), torch.eye(64)])
def test_weights_without_a_range_keep_their_values(weight: torch.Tensor):
    found = quantise_four_bits(weight)
    torch.testing.assert_close(found.expanded() * found.scale[:, None], weight, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("misaligned", [0, 8])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_rows_in_halves_prefetch_all_codes(kind: Instructions, misaligned: int):
    """The first pass prefetches all codes of its half, also if they begin in the middle of a line, as they may in a
    file. What is prefetched is noted instead.
    """
    asked: list[int] = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int] * 3)
    def note(address: int, *_: int) -> None:
        asked.append(address // LINE)

    where = ctypes.cast(note, ctypes.c_void_p).value
    text = source(kind).replace('call void @"llvm.prefetch.p0"', f"call void inttoptr (i64 {where} to ptr)")
    engine = machine_code(text, kind.features)
    size, rows = GROUP_BYTES * block_size(kind), rows_by_codes(kind)
    groups = 2 * AHEAD // size
    weight = ctypes.create_string_buffer(2 * groups * size + 2 * LINE)
    first = -(-ctypes.addressof(weight) // LINE) * LINE + misaligned
    x, out = (ctypes.create_string_buffer(4 * rows * count) for count in (GROUP // 4 * groups, block_size(kind)))
    correction, factor = (ctypes.create_string_buffer(4 * block_size(kind)) for _ in range(2))
    given = [first, *map(ctypes.addressof, (correction, factor, x, out, out)), groups, block_size(kind), rows]
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)(engine.get_function_address("run"))
    task = (ctypes.c_int64 * len(given))(*given)
    run(ctypes.addressof(task), 0, 1, 0)
    of_scales = groups * -(-2 * block_size(kind) // LINE)  # only the first pass prefetches these
    first_pass = asked[: (len(asked) + of_scales) // 2]
    pair = 4 * block_size(kind)
    codes = [first + size * group + pair * at for group in range(AHEAD // size, groups) for at in range(4)]
    assert {(code + byte) // LINE for code in codes for byte in range(pair // 2)} <= set(first_pass)


TRIPLES = {AVX512_VNNI: "x86_64", AVX_VNNI: "x86_64", AVX2: "x86_64", NEON: "aarch64"}
PRODUCT = {AVX512_VNNI: "vpdpbusd", AVX_VNNI: "vpdpbusd", AVX2: "vpmaddubsw", NEON: "sdot"}


@pytest.mark.parametrize("vectors", [VECTORS, HALF])
@pytest.mark.parametrize("kind", TRIPLES, ids=lambda kind: kind.name)
def test_sums_stay_in_registers(kind: Instructions, vectors: int):
    """In the inner loop of the most rows a weight is expanded once for all rows. There are fewer stores than products:
    most sums stay in registers.
    """
    triple = f"{TRIPLES[kind]}-unknown-linux-gnu"
    rows = rows_at_once(kind) if vectors == VECTORS else rows_by_codes(kind)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(source(kind))
    module.triple = triple
    features = ",".join(f"+{name}" for name in kind.features)
    machine = llvm.Target.from_triple(triple).create_target_machine(features=features, opt=3, jit=True)
    _, _, text = machine.emit_assembly(module).partition(f"\ncodes_{rows}:")
    text = text[: text.index(".Lfunc_end")]
    label = list(re.finditer(r"^(\.?LBB\w+):", text, re.MULTILINE))[1]
    lines = [line.strip().replace("{vex}\t", "") for line in text[label.end() :].splitlines()]
    body = lines[: next(number for number, line in enumerate(lines) if line.endswith(label[1]))]
    fours = max(2, kind.lanes if kind == NEON else 1)
    products = fours * vectors * rows
    assert sum(line.startswith(PRODUCT[kind]) for line in body) == products
    assert sum(line.startswith(("vpmullw", "mul\t")) for line in body) == fours * vectors
    assert sum(bool(re.match(r"(st[rp]|vmov\w+\s+%.mm\d+,.*\(%rsp\))", line)) for line in body) < 0.75 * products
