import pytest
import torch

from dlsp_kernels import attention_bias, canvas_attention

# A cache of 3; clean rows at 3, 4, 5; one canvas of two after position 3, one of two after position 5.
POSITIONS = [3, 4, 5, 4, 5, 6, 7]
VISIBLE = [4, 5, 6, 4, 4, 6, 6]
CANVAS = [0, 0, 0, 1, 1, 2, 2]


def seen_by(row: int, cached: int) -> list[bool]:
    """Key by key, straight from the definition."""
    old = [position < VISIBLE[row] for position in range(cached)]
    new = [
        POSITIONS[key] < VISIBLE[row] if CANVAS[key] == 0 else CANVAS[key] == CANVAS[row] for key in range(len(CANVAS))
    ]
    return old + new


def test_bias_is_the_definition():
    bias = attention_bias(torch.tensor([POSITIONS, VISIBLE, CANVAS]), 3, 12, 2, torch.float32)
    assert len(bias) == 16
    bias = bias[:14]
    expected = [seen_by(row, 3) + [False] * 2 for row in range(len(CANVAS))] * 2
    assert (bias == 0).tolist() == expected
    assert bias[~torch.tensor(expected)].eq(-torch.inf).all()


@pytest.mark.parametrize(
    ("rows", "heads", "kv_heads", "keys"), [(1, 4, 2, 1), (3, 6, 2, 11), (7, 14, 2, 10), (5, 4, 4, 9)]
)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 2e-2)])
def test_attention_against_one_head_at_a_time(rows, heads, kv_heads, keys, dtype, tolerance):
    torch.manual_seed(0)
    q, k, v = (torch.randn(s).to(dtype) for s in ((rows, heads, 8), (kv_heads, keys, 8), (kv_heads, keys, 8)))
    seen = torch.rand(rows, keys) < 0.6
    seen[:, 0] = True
    one = torch.zeros(rows, keys, dtype=dtype).masked_fill(~seen, -torch.inf)
    out = canvas_attention(q, k, v, one.repeat(heads // kv_heads, 1)).view(rows, heads, 8)
    for head in range(heads):
        own = head * kv_heads // heads
        score = q[:, head].float() @ k[own].float().T / 8**0.5
        expected = score.masked_fill(~seen, -torch.inf).softmax(-1) @ v[own].float()
        torch.testing.assert_close(out[:, head].float(), expected, atol=tolerance, rtol=tolerance)
