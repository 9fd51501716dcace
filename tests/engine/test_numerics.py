"""Our forward against transformers' Qwen2 on the same weights, float32."""

import pytest
import torch
from torch import Tensor
from transformers import Qwen2ForCausalLM

from bench.as_transformers import configuration, named
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.rows import MASK, Rows
from dlsp_engine.model.weights import Weights


def reference(weights: Weights) -> Qwen2ForCausalLM:
    shape = weights.architecture
    with torch.device("meta"):
        model = Qwen2ForCausalLM(configuration(shape))
    model = model.to_empty(device="cpu")
    model.load_state_dict(named(weights))
    rotary = model.model.rotary_emb  # a buffer outside the state
    rotary.inv_freq.copy_(shape.theta ** (-torch.arange(0, shape.head_dim, 2).float() / shape.head_dim))
    return model.eval()


def ours(model: Qwen2, tokens: list[int], pieces: list[int]) -> Tensor:
    """Logits of all tokens, fed in pieces, a canvas beside each piece."""
    cache, logits, start = model.new_cache(), [], 0
    for length in pieces:
        rows = Rows()
        rows.add_clean(tokens[start : start + length], start)
        rows.add_canvas([MASK, MASK, tokens[0]], after=start)
        logits.append(model.head(model.forward([(cache, rows)]))[:length])
        cache.length += length
        start += length
    return torch.cat(logits)


def compare(weights: Weights, tokens: list[int], pieces: list[int]) -> None:
    with torch.inference_mode():
        expected = reference(weights)(torch.tensor([tokens])).logits[0]
    error = (ours(Qwen2(weights), tokens, pieces) - expected).abs().max() / expected.abs().max()
    assert error < 1e-4, f"relative error {error:.1e}"


def test_tiny(tiny):
    torch.manual_seed(1)
    compare(tiny.model.weights, torch.randint(0, 256, (41,)).tolist(), [20, 1, 7, 13])


@pytest.mark.model
def test_real(real):
    tokens = real.tokenizer.encode("def fibonacci(n: int) -> int:\n    if n < 2:\n        return n\n" * 3)
    compare(real.model.weights, tokens, [len(tokens) - 9, 9])
