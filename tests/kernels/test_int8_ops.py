"""The ops of an int8 step: what each says, and compiled against reference."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from dlsp_kernels import compiled, hadamard, quantise_rows, quantise_weight, reference, rope_table
from dlsp_kernels.hadamard.reference import group_size
from dlsp_kernels.int8_linear import narrow
from dlsp_kernels.int8_linear.choose import BY_PREFERENCE
from dlsp_kernels.int8_linear.onednn import OneDnn
from dlsp_kernels.int8_linear.reference import int8_linear

ROWS = [1, 5, 17]


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


@pytest.fixture
def one_thread_after() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


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


@pytest.mark.skipif(not narrow.program(), reason="no AVX-512 VNNI, or other threads")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("outs", "ins"), [(64, 4), (100, 64), (1248, 896), (37, 8), (928, 4864)])
def test_few_rows_have_the_bits_of_many(outs: int, ins: int, threads: int, one_thread_after: None):
    torch.set_num_threads(threads)
    weight, scale = torch.randint(-127, 128, (outs, ins), dtype=torch.int8), torch.rand(outs)
    weight[0], weight[-1] = 127, -127
    packed = OneDnn.pack(weight, scale, 127)
    x = torch.randint(0, 256, (narrow.MOST + 1, ins), dtype=torch.uint8)
    x[0], x[1] = 255, 0
    many = packed(x)
    for rows in (1, 2, 5, 6, 7, 13, narrow.MOST):
        assert torch.equal(packed(x[:rows]), many[:rows]), rows
    if outs >= 64:
        assert packed._narrow, "the program must have been used"


def test_weights_that_lie_otherwise_are_left_to_onednn(monkeypatch: pytest.MonkeyPatch):
    weight, scale, x = torch.randint(-127, 128, (128, 64), dtype=torch.int8), torch.rand(128), torch.full((2, 64), 200)
    expected = OneDnn.pack(weight, scale, 127)._by_onednn(x.to(torch.uint8))
    other = OneDnn.pack(weight.flip(0).contiguous(), scale, 127)
    monkeypatch.setattr(
        torch.ops.mkldnn, "data_ptr", lambda packed, found=torch.ops.mkldnn.data_ptr: found(other.packed)
    )
    packed = OneDnn.pack(weight, scale, 127)
    assert packed._narrow is None
    assert torch.equal(packed(x.to(torch.uint8)), expected)


@pytest.mark.parametrize("rows", ROWS)
def test_norm_compiled(rows):
    x, y, scale = torch.randn(rows, 96), torch.randn(rows, 104), torch.rand(rows, 1)
    ours, theirs = x.clone(), x.clone()
    quantised = compiled.add_norm_quantise(ours, y, scale, 1e-6, 127)
    same(quantised, reference.add_norm_quantise(theirs, y, scale, 1e-6, 127))
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(ours, x + y[:, :96] * scale)


@pytest.mark.parametrize("rows", ROWS)
def test_quantise_compiled(rows):
    x = torch.randn(rows, 96)
    same(compiled.quantise_rows(x, 63), reference.quantise_rows(x, 63))


@pytest.mark.parametrize("rows", ROWS)
def test_rope_compiled(rows):
    y, scale, bias = torch.randn(rows, 70), torch.rand(rows, 1), torch.randn(64)
    table = rope_table(torch.arange(rows), 8, 1e4)
    for ours, theirs in zip(
        compiled.rope_heads(y, scale, bias, *table, 4, 2),
        reference.rope_heads(y, scale, bias, *table, 4, 2),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("rows", ROWS)
def test_swiglu_compiled(rows):
    y, scale = torch.randn(rows, 2 * 192 + 8) * 20, torch.rand(rows, 1)
    same(compiled.swiglu_quantise(y, scale, 192, 127), reference.swiglu_quantise(y, scale, 192, 127))


@pytest.mark.parametrize("gate", [1000.0, -1000.0])
def test_swiglu_compiled_at_the_far_ends(gate):
    y = torch.full((1, 8), gate)
    y[:, 4:] = 1
    same(compiled.swiglu_quantise(y, torch.ones(1, 1), 4, 127), reference.swiglu_quantise(y, torch.ones(1, 1), 4, 127))


@pytest.mark.parametrize("canvas", [slice(2, 6), torch.tensor([1, 3])])
@pytest.mark.parametrize("ends", [[700], [300, 600, 900]])
def test_low_rank_add_compiled(canvas, ends):
    rank, outputs = 8, ends[-1]
    y = torch.randn(6, outputs + rank * len(ends))
    b, b_scale = quantise_weight(torch.randn(outputs, rank))
    b = b.T.contiguous()
    ours, theirs = y.clone(), y.clone()
    compiled.low_rank_add(ours, canvas, ends, b, b_scale)
    reference.low_rank_add(theirs, canvas, ends, b, b_scale)
    torch.testing.assert_close(ours, theirs)
    clean = torch.ones(6, dtype=torch.bool)
    clean[canvas] = False
    assert torch.equal(ours[clean], y[clean])
    whole = torch.block_diag(*(b.float() * b_scale).T.split([e - s for s, e in zip([0, *ends], ends, strict=False)]))
    torch.testing.assert_close(ours[canvas, :outputs], y[canvas, :outputs] + y[canvas, outputs:] @ whole.T)


WORKING = [each for each in BY_PREFERENCE if each.exact()]


@pytest.mark.parametrize("kind", WORKING, ids=lambda kind: f"{kind.name}-{kind.levels}")
@pytest.mark.parametrize("rows", [1, 8, 33])
def test_int8_linear_against_reference(kind, rows):
    weight, scale = quantise_weight(torch.randn(96, 64))
    q, _ = quantise_rows(torch.randn(rows, 64), kind.levels)
    packed = kind.pack(weight, scale)
    torch.testing.assert_close(packed(q), int8_linear(q, weight, scale, kind.levels), rtol=1e-5, atol=1e-3)
    assert torch.equal(packed(q)[:1], packed(q[:1])), "a row is the same whatever comes beside it"
    read = kind.reader(96, 64)
    assert torch.equal(read(packed.stored, scale)(q), packed(q))
    with pytest.raises(ValueError, match="another layout"):
        read(packed.stored[:-1], scale)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="FBGEMM is for x86-64")
def test_without_vnni_fbgemm_is_chosen():
    """oneDNN's int8 of 8 bits would overflow there, and is slow with 7."""
    chosen = "from dlsp_kernels.int8_linear.choose import best; print(best().name, best().levels)"
    limit = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2", "FBGEMM_ENABLE_INSTRUCTIONS": "AVX2"}
    said = subprocess.run([sys.executable, "-c", chosen], env=limit, capture_output=True, text=True, check=True).stdout
    assert said == "Fbgemm 63\n"
