"""Others on the same weights and such a prompt: `transformers` generate, as installed or compiled with a static cache,
and vLLM where it is installed.
"""

import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from statistics import median
from typing import Any

import torch

from bench.as_transformers import configuration, named
from bench.gpu.setting import Sample, Setting, clocked
from bench.gpu.shapes import SHAPES, blank, filled
from dlsp_engine.model.weights import Weights

# Tokens of two answers, whose difference is decoding alone: reading, and what each call prepares, falls out.
SHORT, LONG = 16, 64


def run(setting: Setting, kind: str) -> Iterator[Sample]:
    """`kind` is installed, static or vllm."""
    short, long = (2, 4) if setting.rehearse else (SHORT, LONG)
    generate = by_vllm(setting) if kind == "vllm" else by_transformers(setting, kind)

    for _ in range(1 if setting.rehearse else 3):  # the static cache compiles
        generate(short)
        generate(long)

    def usual(count: int) -> float:
        return median(clocked(lambda: generate(count)) for _ in range(5))

    ms = 1e3 * (usual(long) - usual(short)) / (long - short)
    name = f"vllm {version('vllm')}" if kind == "vllm" else f"transformers {version('transformers')} {kind}"
    sample = {"name": name, "ms_a_token": ms, "tokens_s": 1e3 / ms}
    yield sample | {"real_weights": setting.is_real("0.5b"), "context": setting.context}


def by_transformers(setting: Setting, kind: str) -> Callable[[int], object]:
    """Writes so many tokens."""
    model = peer(setting)
    # Not 0: a prompt that holds the padding would be masked, and its attention slow.
    prompt = torch.randint(1, 200, (1, setting.context), device=setting.device)
    options: dict[str, Any] = {"do_sample": False, "pad_token_id": 0}
    if kind == "static":
        options["cache_implementation"] = "static"

    def generate(count: int) -> None:
        model.generate(prompt, **options, max_new_tokens=count, min_new_tokens=count)
        setting.wait()

    return generate


def by_vllm(setting: Setting) -> Callable[[int], object]:
    """Writes so many tokens. The prompt is in its cache from the first time on."""
    vllm: Any = import_module("vllm")
    with tempfile.TemporaryDirectory() as folder:
        peer(setting).save_pretrained(folder)
        longest = setting.context + 2 * LONG
        model = vllm.LLM(folder, skip_tokenizer_init=True, max_model_len=longest, gpu_memory_utilization=0.5)
    prompt = {"prompt_token_ids": torch.randint(1, 200, (setting.context,)).tolist()}

    def generate(count: int) -> None:
        wanted = {"min_tokens": count, "max_tokens": count, "ignore_eos": True, "detokenize": False}
        model.generate([prompt], vllm.SamplingParams(temperature=0, **wanted), use_tqdm=False)

    return generate


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
