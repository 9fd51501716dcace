"""The sizes of a model from the `config.json` that the model hub's libraries write."""

import math
from collections.abc import Callable
from typing import Any, cast

from dlsp_engine.errors import EngineError
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.families import DEFAULT_THETA, FAMILIES

Json = dict[str, Any]
Refuse = Callable[[str], EngineError]

# What changes the results and is not computed: a key of config.json -> the values that change nothing.
PLAIN: dict[str, tuple[Any, ...]] = {
    "attention_bias": (None, False),
    "mlp_bias": (None, False),
    "use_sliding_window": (None, False),
    "partial_rotary_factor": (None, 1, 1.0),
    "pretraining_tp": (None, 1),
    "is_encoder_decoder": (None, False),
    "use_bias": (None, True),
}
SCALINGS = ("default", "linear", "llama3")  # of positions


def architecture(config: Json, vocab: int, refuse: Refuse) -> Architecture:
    """The model's sizes. `vocab` is the number of rows of its embedding. Raises what `refuse` makes of a reason."""
    family = config.get("model_type")
    if "auto_map" in config:
        raise refuse(
            f"it needs code from its repository (auto_map, family {family}), which the engine never runs; if it "
            "computes as one of the engine's families does, say so in a convention.json beside it (docs/models.md)"
        )
    if family not in FAMILIES:
        raise refuse(f"it is a model of the family {family or 'unknown'}, and the engine runs {', '.join(FAMILIES)}")
    kinds = config.get("architectures") or []
    if kinds and not any(str(kind).endswith("ForCausalLM") for kind in kinds):
        raise refuse(f"it is a {str(kinds[0])[:60]}, which writes no text")
    if quantised := config.get("quantization_config"):
        method = cast("Json", quantised).get("quant_method") if isinstance(quantised, dict) else quantised
        raise refuse(f"its weights are quantised by {method}; take its GGUF file, or one in bf16, float16 or float32")
    activation = "gelu_pytorch_tanh" if FAMILIES[family].gelu else "silu"
    for key, plain in (PLAIN | {"hidden_act": (activation,)}).items():
        if key in config and config[key] not in plain:
            raise refuse(f"config.json says {config[key]!r} for {key}, which the engine does not compute")
    if set(config.get("layer_types") or ["full_attention"]) != {"full_attention"}:
        raise refuse("some of its layers see a part of the text only, which the engine does not compute")

    def size(key: str, default: int | None = None) -> int:
        found = config.get(key)
        found = default if found is None else found
        if type(found) is not int or not 1 <= found < 2**31:
            raise refuse(f"config.json says {found} for {key}, where a positive number belongs")
        return found

    dim, heads = size("hidden_size"), size("num_attention_heads")
    kv_heads = size("num_key_value_heads", heads)
    head_dim = size("head_dim", dim // heads)
    if heads % kv_heads or (dim % heads and not config.get("head_dim")) or head_dim % 2:
        raise refuse(
            f"{heads} heads for queries and {kv_heads} for keys of {head_dim} numbers do not go with each other and "
            f"its width of {dim}"
        )
    if (said := size("vocab_size")) != vocab:
        raise refuse(f"config.json says {said} tokens, and its embedding has {vocab} rows")
    contexts = [size("max_position_embeddings")] if config.get("max_position_embeddings") else []
    if config.get("sliding_window") and "use_sliding_window" not in config:
        contexts.append(size("sliding_window"))  # text beyond it is refused, so that all rows see all of it
    epsilon = "norm_epsilon" if FAMILIES[family].layer_norm else "rms_norm_eps"
    rope: Any = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(rope, dict):
        raise refuse("config.json does not say how positions turn")
    theta = rope.get("rope_theta", config.get("rope_theta", DEFAULT_THETA))
    return Architecture(
        layers=size("num_hidden_layers"),
        dim=dim,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        ff=size("intermediate_size"),
        vocab=vocab,
        theta=_positive(theta, "rope_theta", refuse),
        eps=_positive(config.get(epsilon), epsilon, refuse),
        tied=bool(config.get("tie_word_embeddings", False)),
        family=family,
        head_norm=FAMILIES[family].head_norm,
        layer_norm=FAMILIES[family].layer_norm,
        gelu=FAMILIES[family].gelu,
        context=min(contexts, default=0),
        rope_divisors=_divisors(cast("Json", rope), float(theta), head_dim, refuse),
    )


def _divisors(rope: Json, theta: float, head_dim: int, refuse: Refuse) -> tuple[float, ...]:
    """What each of RoPE's frequencies is divided by; empty if positions are not scaled."""
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in SCALINGS:
        raise refuse(f"its positions are scaled by '{str(kind)[:40]}', which the engine does not compute")
    if kind == "default":
        return ()
    factor = _positive(rope.get("factor"), "factor", refuse)
    if kind == "linear":
        return () if factor == 1 else (factor,) * (head_dim // 2)
    low, high, length = (
        _positive(rope.get(key), key, refuse)
        for key in ("low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
    )
    if low >= high:
        raise refuse(f"config.json says {low} for low_freq_factor and {high} for high_freq_factor")
    divisors: list[float] = []
    for pair in range(head_dim // 2):
        turns = length * theta ** (-2 * pair / head_dim) / (2 * math.pi)  # within the length of training
        share = min(1.0, max(0.0, (turns - low) / (high - low)))  # of the frequency that stays
        divisors.append(1 / ((1 - share) / factor + share))
    return tuple(divisors)


def _positive(found: Any, key: str, refuse: Refuse) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found < 2.0**64:
        raise refuse(f"config.json says {found} for {key}, where a positive number belongs")
    return float(found)
