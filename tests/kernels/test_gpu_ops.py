"""Each kernel of a GPU step, in Triton's interpreter, against its reference in float64: `bench/gpu/cases.py`."""

import pytest
import torch

from bench.gpu.cases import Case, cases, error, poisoned
from dlsp_kernels.gated_linear.reference import gated_linear
from dlsp_kernels.matrix import FORMATS, GROUP, LowRankUpdate, Matrix
from dlsp_kernels.ops import NAMES, Op, StepOps, reason

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
    def broken(x: int) -> int:
        raise ValueError("no such instruction\non this device")

    op = Op("twice", broken, lambda x: 2 * x)
    assert [op(3), op(4)] == [6, 8]
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
