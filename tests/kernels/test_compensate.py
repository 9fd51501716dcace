"""Rounding to 4 bits for given inputs: the kernel against the reference, and both against rounding to the nearest."""

import pytest
import torch
from torch import Tensor

from dlsp_kernels.compensate import compiled, reference
from dlsp_kernels.compensate.reference import compensated, shares_of
from dlsp_kernels.int4_linear.reference import GROUP, MOST_CODE, MOST_STEP, MOST_WEIGHT, FourBits, quantise_four_bits
from dlsp_kernels.program.instructions import Instructions
from tests.kernels.programs import KINDS

KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def related(rows: int, ins: int) -> Tensor:
    """Inputs that tell much of each other, as activations do."""
    return torch.randn(rows, ins // 4) @ torch.randn(ins // 4, ins) + 0.3 * torch.randn(rows, ins)


def error_of(found: FourBits, weight: Tensor, inputs: Tensor) -> float:
    """The error of the results, as a share of the results."""
    wanted = inputs @ weight.T
    return float((inputs @ (found.expanded() * found.scale[:, None]).T - wanted).norm() / wanted.norm())


def test_results_err_less_than_by_rounding_to_the_nearest():
    weight, inputs, others = torch.randn(40, 256), *related(3000, 256).split(2000)
    found = compensated(weight, shares_of(inputs))
    assert error_of(found, weight, others) < 0.6 * error_of(quantise_four_bits(weight), weight, others)


@KIND
@pytest.mark.parametrize(("outs", "ins"), [(16, 32), (37, 96), (1, 64), (200, 128)])
def test_the_kernel_rounds_as_the_reference(kind: Instructions, outs: int, ins: int):
    weight, shares = torch.randn(outs, ins), shares_of(related(500, ins))
    found, wanted = compiled.compensated(weight, shares, kind), compensated(weight, shares)
    for name in ("codes", "step", "minimum"):
        agree = getattr(found, name) == getattr(wanted, name)
        assert agree.float().mean() > 0.98, "but for weights in the middle between two codes, and those after them"
    assert torch.equal(found.scale, wanted.scale)


@KIND
def test_wide_inputs_are_taken_in_pieces(kind: Instructions, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reference, "MOST_INPUTS", most := 64)
    ins = 2 * most + GROUP
    weight, inputs = torch.randn(20, ins), related(500, ins)
    shares = shares_of(inputs)
    assert sum(map(len, shares)) == ins
    assert max(map(len, shares)) <= most
    found = compiled.compensated(weight, shares, kind)
    assert error_of(found, weight, inputs) < 0.8 * error_of(quantise_four_bits(weight), weight, inputs)


@KIND
def test_codes_keep_their_range(kind: Instructions):
    """Also where errors add up to more than the largest weight, and where inputs are all zero."""
    weight, inputs = torch.randn(64, 256), related(300, 256)
    weight[:, 5] = 100
    inputs[:, 7] = 0
    found = compiled.compensated(weight, shares_of(inputs), kind)
    assert found.codes.max() <= MOST_CODE
    assert found.step.min() >= 1
    assert found.step.max() <= MOST_STEP
    largest = found.minimum.int() + MOST_CODE * found.step.int()
    assert found.minimum.min() >= -MOST_WEIGHT
    assert largest.max() <= MOST_WEIGHT
