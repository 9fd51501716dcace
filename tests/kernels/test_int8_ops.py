"""The ops of an int8 step: what each says, and compiled against reference."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from dlsp_kernels import hadamard, low_rank_add, quantise_rows, quantise_weight, rope_table
from dlsp_kernels.canvas_attention.compiled import suited
from dlsp_kernels.hadamard.reference import group_size
from dlsp_kernels.int8_linear import source
from dlsp_kernels.int8_linear.compiled import Compiled
from dlsp_kernels.int8_linear.kinds import BY_ONEDNN, PROGRAMS, Int8, best, works
from dlsp_kernels.int8_linear.reference import int8_linear
from dlsp_kernels.int8_ops import REFERENCE, Int8Ops
from dlsp_kernels.low_rank_add.compiled import CompiledLowRankAdd
from dlsp_kernels.program import crew
from dlsp_kernels.program.instructions import AVX2, Instructions, usable
from dlsp_kernels.program.machine_code import machine_code
from tests.kernels.programs import KINDS

ROWS = [1, 5, 17]


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def same(quantised, other) -> None:
    """Rounding may part values that lie on the border between two integers."""
    (q, scale), (p, step) = quantised, other
    torch.testing.assert_close(scale, step)
    difference = (q.int() - p.int()).abs()
    assert difference.max() <= 1
    assert difference.float().mean() < 1e-2


@pytest.mark.parametrize("levels", [127, 63])
def test_quantised_rows_come_back_within_half_a_level(levels):
    x = torch.randn(7, 40) * torch.rand(7, 1) * 100
    q, scale = quantise_rows(x, levels)
    back = (q.float() - (levels + 1)) * scale
    assert ((back - x).abs() <= scale * 0.501).all()
    assert torch.equal(quantise_rows(torch.zeros(2, 3), levels)[0], torch.full((2, 3), levels + 1, dtype=torch.uint8))


def test_hadamard_is_its_own_inverse_and_keeps_lengths():
    for n in (64, 48, 4864):
        x = torch.randn(3, n)
        torch.testing.assert_close(hadamard(hadamard(x)), x)
        torch.testing.assert_close(hadamard(x).norm(dim=1), x.norm(dim=1))
    assert [group_size(n) for n in (4864, 8960, 48, 7)] == [64, 64, 16, 1]


def test_hadamard_spreads_an_outlier():
    x = torch.zeros(1, 4864)
    x[0, 17] = 8
    assert hadamard(x).abs().max() == 1


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def ops(request) -> Int8Ops:
    return Int8Ops.of(request.param)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("dim", [96, 896, 20])
def test_norm_compiled(ops, rows, dim):
    x, y, scale = torch.randn(rows, dim), torch.randn(rows, dim + 8), torch.rand(rows, 1)
    ours, theirs = x.clone(), x.clone()
    quantised = ops.add_norm_quantise(ours, y, scale, 1e-6, 127)
    same(quantised, REFERENCE.add_norm_quantise(theirs, y, scale, 1e-6, 127))
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(ours, x + y[:, :dim] * scale)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("dim", [96, 40])
def test_quantise_compiled(ops, rows, dim):
    x = torch.randn(rows, dim)
    x[-1] = 0
    same(ops.quantise_rows(x, 63), REFERENCE.quantise_rows(x, 63))


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(
    ("heads", "kv_heads", "d"), [(4, 2, 8), (14, 2, 64), (4, 2, 80), (4, 2, 96), (12, 2, 128), (2, 1, 256)]
)
@pytest.mark.parametrize("transform", [False, True])
def test_rope_compiled(ops, rows, heads, kv_heads, d, transform):
    width = (heads + 2 * kv_heads) * d
    y, scale, bias = torch.randn(rows, width + 6), torch.rand(rows, 1), torch.randn(width)
    table = rope_table(torch.arange(rows), d, 1e4)
    for ours, theirs in zip(
        ops.rope_heads(y, scale, bias, *table, heads, kv_heads, transform),
        REFERENCE.rope_heads(y, scale, bias, *table, heads, kv_heads, transform),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("ff", [192, 48, 4864, 8960])
def test_swiglu_compiled(ops, rows, ff):
    y, scale = torch.randn(rows, 2 * ff + 8) * 20, torch.rand(rows, 1)
    same(ops.swiglu_quantise(y, scale, ff, 127), REFERENCE.swiglu_quantise(y, scale, ff, 127))


@pytest.mark.parametrize("gate", [1000.0, -1000.0])
def test_swiglu_compiled_at_the_far_ends(ops, gate):
    y = torch.full((1, 8), gate)
    y[:, 4:] = 1
    same(ops.swiglu_quantise(y, torch.ones(1, 1), 4, 127), REFERENCE.swiglu_quantise(y, torch.ones(1, 1), 4, 127))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_row_is_the_same_whatever_comes_beside_it_and_on_any_threads(ops, threads, threads_after):
    x, y, scale = torch.randn(33, 896), torch.randn(33, 2 * 4864), torch.rand(33, 1)
    alone = [*ops.add_norm_quantise(x[:1].clone(), y[:1], scale[:1], 1e-6, 127), *ops.quantise_rows(x[:1], 127)]
    alone += ops.swiglu_quantise(y[:1], scale[:1], 4864, 127)
    torch.set_num_threads(threads)
    found = [*ops.add_norm_quantise(x.clone(), y, scale, 1e-6, 127), *ops.quantise_rows(x, 127)]
    found += ops.swiglu_quantise(y, scale, 4864, 127)
    assert all(torch.equal(one, many[:1]) for one, many in zip(alone, found, strict=True))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("canvas", [slice(2, 6), slice(0, 17), torch.tensor([1, 3])])
@pytest.mark.parametrize("ends", [[700], [300, 600, 900], [64], [5]])
@pytest.mark.parametrize("between", [0, 24])
def test_low_rank_add_compiled(kind, canvas, ends, between):
    """`between` columns, of another update, lie before those of this one."""
    rank, outputs = 8, ends[-1]
    column = outputs + between
    y = torch.randn(17, column + rank * len(ends))
    b, b_scale = quantise_weight(torch.randn(outputs, rank))
    b = b.T.contiguous()
    ours, theirs = y.clone(), y.clone()
    CompiledLowRankAdd(ends, b, b_scale, column, kind)(ours, canvas)
    low_rank_add(theirs, canvas, ends, b, b_scale, column)
    torch.testing.assert_close(ours, theirs)
    clean = torch.ones(17, dtype=torch.bool)
    clean[canvas] = False
    assert torch.equal(ours[clean], y[clean])
    whole = torch.block_diag(*(b.float() * b_scale).T.split([e - s for s, e in zip([0, *ends], ends, strict=False)]))
    torch.testing.assert_close(ours[canvas, :outputs], y[canvas, :outputs] + y[canvas, column:] @ whole.T)


WORKING = [*map(Compiled, KINDS), *(each for each in BY_ONEDNN if works(each))]
SHAPES = [(64, 4), (100, 64), (37, 8), (1248, 896), (928, 4864)]


@pytest.mark.parametrize("kind", WORKING, ids=lambda kind: f"{kind.name}-{kind.levels}")
@pytest.mark.parametrize("rows", [1, 8, 33])
def test_int8_linear_against_reference(kind: Int8, rows: int):
    weight, scale = quantise_weight(torch.randn(96, 64))
    q, _ = quantise_rows(torch.randn(rows, 64), kind.levels)
    matrix = kind.matrix(kind.pack(weight), scale)
    torch.testing.assert_close(matrix(q), int8_linear(q, weight, scale, kind.levels), rtol=1e-5, atol=1e-3)
    assert torch.equal(matrix(q)[:1], matrix(q[:1])), "a row is the same whatever comes beside it"


@pytest.mark.parametrize("kind", [each for each in WORKING if isinstance(each, Compiled)], ids=lambda kind: kind.name)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("outs", "ins"), SHAPES)
def test_a_program_is_exact_for_any_rows(kind: Compiled, outs: int, ins: int, threads: int, threads_after: None):
    torch.set_num_threads(threads)
    weight, scale = torch.randint(-127, 128, (outs, ins), dtype=torch.int8), torch.rand(outs)
    weight[0], weight[-1] = 127, -127
    matrix, zero = kind.matrix(kind.pack(weight), scale), kind.levels + 1
    x = torch.randint(1, 2 * zero, (33, ins), dtype=torch.uint8)
    x[0], x[1] = 2 * zero - 1, 1
    wanted = ((x.double() - zero) @ weight.double().T).float() * scale
    for rows in (0, 1, 2, 3, 4, 5, 6, 7, 13, 33):
        assert torch.equal(matrix(x[:rows]), wanted[:rows]), rows
    assert torch.equal(matrix(torch.stack([x, x], 1)[:, 0]), wanted), "rows that do not lie together"


@pytest.mark.parametrize("at_once", [1, 2, 4])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_many_rows_ask_for_all_of_the_next_block(kind: Instructions, at_once: int):
    """What is prefetched is taken down instead."""
    asked: set[int] = set()

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int] * 3)
    def note(address: int, *_: int) -> None:
        asked.add(address // source.LINE)

    where = ctypes.cast(note, ctypes.c_void_p).value
    call = 'call void @"llvm.prefetch.p0"'
    text = source.source(kind, at_once)
    engine = machine_code(text.replace(call, f"call void inttoptr (i64 {where} to ptr)"), kind.features)
    assert call in text
    fours, rows = 2 * at_once, source.PASSES * source.rows_at_once(kind)
    size = fours * source.stretch(kind, 1)
    weight = ctypes.create_string_buffer(2 * size + source.LINE)
    aligned = -(-ctypes.addressof(weight) // source.LINE) * source.LINE
    x, out = (ctypes.create_string_buffer(4 * rows * count) for count in (fours, source.block_size(kind)))
    correction, factor = (ctypes.create_string_buffer(8 * source.block_size(kind)) for _ in range(2))
    given = [aligned, *map(ctypes.addressof, (correction, factor, x, out)), fours, source.block_size(kind), rows]
    task = (ctypes.c_int64 * len(given))(*given)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)(engine.get_function_address("run"))
    run(ctypes.addressof(task), 0, 1, 0)
    assert asked == {(aligned + size + byte) // source.LINE for byte in range(0, size, source.LINE)}


def test_inputs_that_make_no_fours_are_refused():
    with pytest.raises(ValueError, match="fours"):
        PROGRAMS[0].pack(torch.zeros(8, 6, dtype=torch.int8))


@pytest.fixture
def forgotten() -> Iterator[None]:
    """What is remembered of this machine is found anew, and again afterwards."""
    for clear in (True, False):
        for each in (crew.crew, usable, best):
            each.cache_clear()
        if clear:
            yield


@pytest.mark.skipif(not KINDS, reason="no program runs here")
def test_programs_run_where_they_can_and_only_there(monkeypatch: pytest.MonkeyPatch, forgotten: None):
    assert all(works(Compiled(kind)) for kind in KINDS)
    assert best() == Compiled(KINDS[0])
    for each in (crew.crew, usable, best):
        each.cache_clear()

    def refused() -> None:
        raise OSError

    monkeypatch.setattr(crew.llvm, "check_jit_execution", refused)
    assert not any(works(each) for each in PROGRAMS)
    assert Int8Ops.of(usable()) is REFERENCE
    assert suited(64) is None


@pytest.mark.skipif(not AVX2.here(), reason="no AVX2, or other threads")
def test_pytorchs_limit_is_kept():
    chosen = "from dlsp_kernels.int8_linear.kinds import best; print(best().name, best().levels)"
    for limit, names in {"avx2": {"AVX-VNNI 127", "AVX2 63"}, "default": {"oneDNN 127", "oneDNN 63"}}.items():
        told = {**os.environ, "ATEN_CPU_CAPABILITY": limit}
        said = subprocess.run([sys.executable, "-c", chosen], env=told, capture_output=True, text=True, check=True)
        assert said.stdout.strip() in names
