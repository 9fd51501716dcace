"""Each kernel of a GPU step, in Triton's interpreter, against its reference in float64: `bench/gpu/cases.py`."""

import pytest
import torch

from bench.gpu.cases import Case, cases, error, poisoned
from dlsp_kernels.gated_linear.reference import gated_linear
from dlsp_kernels.matrix import FORMATS, GROUP, LowRankUpdate, Matrix
from dlsp_kernels.ops import NAMES, Op, StepOps, reason
from dlsp_kernels.packed_rows import PAGE, TILE_ROWS, PackedRows

pytestmark = pytest.mark.usefixtures("one_thread")

torch.manual_seed(0)
CASES = [case for op in NAMES for case in cases("cpu", real=False, op=op)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.op}: {case.name}")
def test_kernel_is_its_reference(case: Case):
    errors = case.check()
    assert max(errors.values()) <= case.tolerance, errors


def test_every_kernel_has_cases():
    assert {case.op for case in CASES} == set(NAMES)


def test_an_output_that_was_not_written_is_seen():
    with poisoned():
        assert error(torch.empty(3), torch.zeros(3)) == float("inf")
        assert error(torch.empty(3, dtype=torch.int32), torch.zeros(3, dtype=torch.int32)) == float("inf")
    assert error(torch.ones(3) * 1.01, torch.ones(3)) == pytest.approx(0.01, rel=1e-4)


@pytest.mark.parametrize("format", FORMATS)
def test_formats_come_close_to_the_weights(format: str):
    weight = torch.randn(9, 2 * GROUP)
    matrix = Matrix.of(weight, format)
    limit = {"dense": 0.0, "int8": 0.01, "fp8": 0.04, "int4": 0.12}[format]
    assert error(matrix.dense(), weight) <= limit
    assert matrix.bytes == pytest.approx(
        {"dense": 4, "int8": 1, "fp8": 1, "int4": 0.5}[format] * weight.numel(), rel=0.15
    )


def test_clean_rows_are_the_base_layer_to_the_bit():
    from dlsp_kernels.gated_linear.triton import gated_linear as fused

    x, weight = torch.randn(5, 32), Matrix.of(torch.randn(48, 32))
    update = LowRankUpdate.of(torch.randn(4, 32), torch.randn(48, 4), (48,))
    canvas = torch.tensor([0, 1, 0, 2, 0], dtype=torch.int32)
    both, base = fused(x, weight, update=update, canvas=canvas), fused(x, weight)
    assert torch.equal(both[canvas == 0], base[canvas == 0])
    assert not torch.allclose(both[canvas > 0], base[canvas > 0])
    assert error(both, gated_linear(x, weight, update=update, canvas=canvas)) < 1e-5


def test_a_kernel_that_fails_gives_way_to_its_reference_and_says_so_once(caplog: pytest.LogCaptureFixture):
    """For inputs of the kind that it fails for."""
    tried: list[int] = []

    def broken(x: torch.Tensor) -> torch.Tensor:
        tried.append(len(x))
        if len(x) > 2:
            raise ValueError("no such instruction\non this device")
        return x + x

    op = Op("twice", broken, lambda x: 2 * x)
    for rows in (3, 3, 2, 4):
        assert torch.equal(op(torch.ones(rows)), torch.full((rows,), 2.0))
    assert tried == [3, 2, 4]
    assert op.slow_calls == 3
    assert op.failure == "ValueError: no such instruction"
    assert len(caplog.records) == 1


def test_triton_says_why_behind_the_program_that_it_quotes():
    class CompilationError(Exception):
        __module__ = "triton.compiler.errors"

    assert reason(CompilationError("at 52:8:\n    x = y\n    ^\ntypes differ")) == "CompilationError: types differ"
    assert reason(RuntimeError("CUDA error: gone\nFor debugging, …")) == "RuntimeError: CUDA error: gone"
    assert reason(ValueError()) == "ValueError: "


def test_a_device_that_fails_is_not_hidden():
    def broken() -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    op = Op("any", broken, lambda: None)
    with pytest.raises(RuntimeError, match="illegal"):
        op()
    assert op.failure is None


def test_what_fails_while_a_step_is_captured_is_no_fault_of_the_kernel(monkeypatch: pytest.MonkeyPatch):
    def broken() -> None:
        raise RuntimeError("operation not permitted")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    op = Op("any", broken, lambda: None)
    with pytest.raises(RuntimeError, match="permitted"):
        op()
    assert op.failure is None


def test_without_kernels_all_ops_are_references():
    ops = StepOps(fused=False)
    y = ops.gated_linear(torch.eye(2), Matrix.of(torch.ones(3, 2)))
    assert torch.equal(y, torch.ones(2, 3))
    assert ops.failures == {}


def alone(rows: PackedRows, row: int, place: int) -> PackedRows:
    """One row as a step of its own, of whose keys the first `place` are cached: a clean row there."""
    position = torch.tensor([place], dtype=torch.int32)
    token, slot, none = rows.token[row : row + 1], rows.slot[row : row + 1], 0 * position
    return PackedRows(
        token, position, position + 1, none, slot, position, none, none + 1, rows.table[:1], rows.tile[:1]
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("cached", "clean", "splits"), [(0, 1, 1), (61, 9, 5), (130, 6, 16), (64 * PAGE - 2, 3, 3)])
def test_attention_sums_a_row_in_one_order(dtype: torch.dtype, cached: int, clean: int, splits: int):
    """Whatever else is in the step, however many programs share the keys, and where the row's own key is: a clean row,
    and an alternative to it, have the bits of a step of their own.
    """
    from dlsp_kernels.paged_attention.triton import paged_attention

    def numbers(*values: int) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.int32)

    heads, kv_heads, d, total = 6, 2, 16, clean + 3
    pages = (cached + total) // PAGE + 1
    table = torch.randperm(pages).int() + 1
    place = torch.arange(cached, cached + total)
    slot = table[place // PAGE] * PAGE + (place % PAGE).int()
    last = cached + clean - 1
    position = numbers(*range(cached, last + 1), last, last + 1, last + 2)  # an alternative to the last, and a canvas
    visible = numbers(*range(cached + 1, last + 2), last, last + 1, last + 1)
    canvas = numbers(*[0] * clean, -1, 2, 2)
    tile = torch.tensor([[0, row] for row in range(0, total, TILE_ROWS)], dtype=torch.int32)
    session = numbers(cached), numbers(0), numbers(total)
    rows = PackedRows(position, position, visible, canvas, slot, *session, table[None], tile)
    q = torch.randn(total, heads, d).to(dtype)
    keys, values = (torch.randn(pages + 1, kv_heads, PAGE, d).to(dtype) for _ in range(2))
    q[clean], first, other = q[clean - 1], slot[clean - 1], slot[clean]  # the alternative has the last row's token
    for pool in (keys, values):
        pool[other // PAGE, :, other % PAGE] = pool[first // PAGE, :, first % PAGE]
    found = paged_attention(q, keys, values, rows, splits=splits)
    for row in range(clean):
        expected = paged_attention(q[row : row + 1], keys, values, alone(rows, row, cached + row))
        assert torch.equal(found[row : row + 1], expected), row
    assert torch.equal(found[clean], found[clean - 1])
