"""Sample text on its way through the layers, for which matrices are quantised to 4 bits."""

import pytest
import torch

from dlsp_engine.model.calibration import LENGTH, Calibration, sample
from dlsp_engine.model.int8 import Int8Qwen2, Int8Weights, matrix
from dlsp_engine.model.quantised import quantised
from dlsp_engine.model.rows import Rows
from dlsp_kernels.int8_linear.compiled import Compiled
from dlsp_kernels.int8_linear.kinds import best
from dlsp_kernels.kv_format import FLOAT32
from tests.engine.test_int8 import SAMPLE

pytestmark = pytest.mark.skipif(not isinstance(best(), Compiled), reason="no 4-bit kernel runs here")


def test_sample_rows_are_those_of_the_model(tiny):
    """Each piece has the hidden states that the quantised model computes for its tokens, at positions from 0, with keys
    and values as they are."""
    dense, kind, length = tiny.model, best(), SAMPLE.shape[1]
    assert kind
    tensors = quantised(dense.weights, dense.adapter, kind, sample=SAMPLE)
    model = Int8Qwen2(dense.weights, dense.adapter, Int8Weights.of(tensors, dense.shape, kind), FLOAT32)
    embedded = dense.weights.embedding[SAMPLE.flatten()].float() @ tensors["turn"]
    calibration = Calibration(embedded, length, dense.shape, kind)
    inputs: dict[str, torch.Tensor] = {}
    for i in range(dense.shape.layers):

        def made(name: str, given: torch.Tensor, i: int = i):
            inputs[name] = given
            return matrix(tensors[f"{i}.{name}.weight"], tensors[f"{i}.{name}.scale"], kind)

        calibration.pass_layer(tensors[f"{i}.qkv_bias"], made)
    found = calibration.last().unflatten(0, (-1, length))
    for piece, tokens in zip(found, SAMPLE.tolist(), strict=True):
        rows = Rows()
        rows.add_clean(tokens, 0)
        wanted = model.forward([(model.new_cache(), rows)])
        assert torch.cosine_similarity(piece, wanted, dim=1).min() > 0.999
    sizes = {name: each.shape for name, each in inputs.items()}
    rows = SAMPLE.numel()
    assert sizes == {"qkv": (rows, 32), "out": (rows, 32), "gate_up": (rows, 32), "down": (rows, 48)}


def test_the_sample_text_is_whole_pieces_of_prompts(tiny):
    tokens = sample(tiny.tokenizer)
    assert tokens.shape[1] == LENGTH
    assert len(tokens) > 60
    text = tiny.tokenizer.decode(tokens.flatten().tolist())
    for language in ("def ", "const ", "local function", "# "):
        assert language in text
