import torch

from dlsp_kernels import low_rank_linear, rms_norm, rope, rope_table, swiglu


def test_rows_without_an_update_get_the_base_layer_to_the_bit():
    torch.manual_seed(0)
    x, weight, bias = torch.randn(5, 6), torch.randn(4, 6), torch.randn(4)
    a, b = torch.randn(2, 6), torch.randn(4, 2)
    other_a, other_b = torch.randn(3, 6), torch.randn(4, 3)
    updates = [(a, b, torch.tensor([1, 4])), (other_a, other_b, slice(3, 5)), (a, b, None)]
    y = low_rank_linear(x, weight, bias, updates)
    base = low_rank_linear(x, weight, bias, [])
    assert torch.equal(y[[0, 2]], base[[0, 2]])
    torch.testing.assert_close(y[1], x[1] @ (weight + b @ a).T + bias)
    torch.testing.assert_close(y[3], x[3] @ (weight + other_b @ other_a).T + bias)
    torch.testing.assert_close(y[4], x[4] @ (weight + b @ a + other_b @ other_a).T + bias)


def test_rope_keeps_lengths_and_depends_on_distance_alone():
    torch.manual_seed(0)
    q, k = torch.randn(1, 1, 8), torch.randn(1, 1, 8)

    def score(at: int, other: int) -> float:
        rotated = [rope(x, *rope_table(torch.tensor([p]), 8, 1e4)) for x, p in ((q, at), (k, other))]
        torch.testing.assert_close(rotated[0].norm(), q.norm())
        return float((rotated[0] * rotated[1]).sum())

    assert abs(score(3, 10) - score(103, 110)) < 1e-4
    assert abs(score(3, 10) - score(3, 11)) > 1e-3


def test_norm_and_activation_are_their_formulas():
    torch.manual_seed(0)
    x, weight = torch.randn(3, 8), torch.randn(8)
    torch.testing.assert_close(rms_norm(x, weight, 1e-6), x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt() * weight)
    gate, up = x.chunk(2, -1)
    torch.testing.assert_close(swiglu(x), gate * torch.sigmoid(gate) * up)
