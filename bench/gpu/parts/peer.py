"""`transformers` generate on the same weights and such a prompt: as installed, or compiled with a static cache."""

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import torch

from bench.as_transformers import configuration, named
from bench.gpu.setting import Sample, Setting, clocked
from bench.gpu.shapes import SHAPES, blank, filled
from dlsp_engine.model.weights import Weights

TOKENS = 64


def run(setting: Setting, kind: str) -> Iterator[Sample]:
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
    yield sample | {"real_weights": setting.is_real("0.5b"), "context": setting.context}


def peer(setting: Setting) -> Any:
    """The 0.5B model of `transformers` with our weights."""
    from transformers import Qwen2ForCausalLM

    if setting.weights:
        weights = Weights.load(setting.weights, torch.bfloat16)
    else:
        shape = SHAPES["tiny" if setting.rehearse else "0.5b"]
        weights = filled(blank(shape, torch.bfloat16, setting.device))
    with torch.device(setting.device):
        model: Any = Qwen2ForCausalLM(configuration(weights.architecture))
    model = model.to(torch.bfloat16).eval()
    model.load_state_dict(named(weights))
    model.tie_weights()
    return model
