"""`transformers` generate on the same weights and such a prompt: as installed, or compiled with a static cache."""

from importlib.metadata import version
from typing import Any

import torch

from bench.gpu.setting import Sample, Setting, clocked
from bench.gpu.shapes import SHAPES, blank, filled
from dlsp_engine.model.weights import Weights

TOKENS = 64


def run(setting: Setting, kind: str) -> list[Sample]:
    model = peer(setting)
    prompt = torch.randint(0, 200, (1, setting.context), device=setting.device)
    tokens = 4 if setting.rehearse else TOKENS
    options = {"max_new_tokens": tokens, "min_new_tokens": tokens, "do_sample": False, "pad_token_id": 0}
    if kind == "static":
        options["cache_implementation"] = "static"

    def generate(count: int) -> None:
        model.generate(prompt, **options | {"max_new_tokens": count, "min_new_tokens": count})
        setting.wait()

    for _ in range(1 if setting.rehearse else 3):  # the static cache compiles
        generate(tokens)
    # Two lengths: their difference is decoding alone.
    whole = sorted(clocked(lambda: generate(tokens)) for _ in range(5))[2]
    one = sorted(clocked(lambda: generate(1)) for _ in range(5))[2]
    ms = 1e3 * (whole - one) / (tokens - 1)
    sample = {"name": f"transformers {version('transformers')} {kind}", "ms_a_token": ms, "tokens_s": 1e3 / ms}
    return [sample | {"real_weights": setting.is_real("0.5b"), "context": setting.context}]


def peer(setting: Setting) -> Any:
    """The 0.5B model of `transformers` with our weights."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    if setting.weights:
        weights = Weights.load(setting.weights, torch.bfloat16)
    else:
        shape = SHAPES["tiny" if setting.rehearse else "0.5b"]
        weights = filled(blank(shape, torch.bfloat16, setting.device))
    shape = weights.architecture
    config = Qwen2Config(
        vocab_size=shape.vocab,
        hidden_size=shape.dim,
        intermediate_size=shape.ff,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        rms_norm_eps=shape.eps,
        rope_parameters={"rope_type": "default", "rope_theta": shape.theta},
        tie_word_embeddings=True,
    )
    with torch.device(setting.device):
        model: Any = Qwen2ForCausalLM(config)
    model = model.to(torch.bfloat16).eval()
    named = {"model.embed_tokens.weight": weights.embedding, "model.norm.weight": weights.norm}
    wide, narrow = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    for i, layer in enumerate(weights.layers):
        at = f"model.layers.{i}."
        parts = zip(
            "qkv", layer.qkv.split([wide, narrow, narrow]), layer.qkv_bias.split([wide, narrow, narrow]), strict=True
        )
        for part, weight, bias in parts:
            named[f"{at}self_attn.{part}_proj.weight"], named[f"{at}self_attn.{part}_proj.bias"] = weight, bias
        named[f"{at}self_attn.o_proj.weight"] = layer.out
        gate, up = layer.gate_up.chunk(2)
        named |= {
            f"{at}mlp.gate_proj.weight": gate,
            f"{at}mlp.up_proj.weight": up,
            f"{at}mlp.down_proj.weight": layer.down,
        }
        named[f"{at}input_layernorm.weight"] = layer.attention_norm
        named[f"{at}post_attention_layernorm.weight"] = layer.mlp_norm
    missing, unknown = model.load_state_dict(named, strict=False)
    assert not unknown, unknown
    assert set(missing) <= {"lm_head.weight"}, missing
    model.tie_weights()
    return model
