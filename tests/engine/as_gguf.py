"""Tiny random models of transformers, and the GGUF files that hold the same: by the published mapping of names, apart
from the engine's own.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch

NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down",
}
WHOLE = {"model.embed_tokens": "token_embd", "lm_head": "output", "model.norm": "output_norm"}


def model(family: str, tied: bool = False, head_dim: int = 8, vocab: int = 262, **more: Any) -> Any:
    """A model of 2 layers with 4 heads, 2 of them for keys. Its weights are exact in bf16."""
    import transformers

    kind = {"qwen2": "Qwen2Config", "qwen3": "Qwen3Config", "llama": "LlamaConfig", "starcoder2": "Starcoder2Config"}
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "vocab_size": vocab}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": head_dim}
    ends = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    config = getattr(transformers, kind[family])(**(sizes | heads | ends | {"tie_word_embeddings": tied} | more))
    torch.manual_seed(0)
    made = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for name, weight in made.named_parameters():
            spread = 0.3 if "embed" in name else weight.shape[-1] ** -0.5
            one = name.endswith("norm.weight")
            weight.normal_(1 if one else 0, 0.2 if weight.ndim == 1 else 1.5 * spread)
            weight.copy_(weight.bfloat16())
    return made


def words(vocab: int) -> list[str]:
    """A word of two letters for each token, so that a text says which tokens it was made of."""
    return [chr(ord("a") + number // 26) + chr(ord("a") + number % 26) for number in range(vocab)]


def two_letters(writer: gguf.GGUFWriter, vocab: int) -> None:
    """A tokenizer with `words`; the last of them ends a text."""
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(words(vocab))
    writer.add_token_types([gguf.TokenType.NORMAL] * (vocab - 1) + [gguf.TokenType.CONTROL])
    writer.add_token_merges(["a a"])
    writer.add_eos_token_id(vocab - 1)
    writer.add_add_bos_token(False)


def write(
    path: Path,
    made: Any,
    family: str,
    divisors: list[float] | None = None,
    kind: str = "F32",
    tokenizer: Callable[[gguf.GGUFWriter, int], None] = two_letters,
) -> None:
    """`divisors`: those of RoPE's frequencies. `kind`: how matrices are quantised. `tokenizer` writes the metadata of
    one with as many words as it is told.
    """
    quantisation = gguf.GGMLQuantizationType[kind]
    config = made.config
    writer = gguf.GGUFWriter(path, family)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    if family == "starcoder2":
        writer.add_layer_norm_eps(config.norm_epsilon)
    else:
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    tokenizer(writer, config.vocab_size)
    if divisors:
        writer.add_tensor("rope_freqs.weight", np.array(divisors, np.float32))
    for name, tensor in made.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        base, _, what = name.rpartition(".")
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}.get(base.split(".")[-1])
        if heads and family == "llama":  # its files pair neighbouring elements
            halves = tensor.view(heads, 2, config.head_dim // 2, -1)
            tensor = halves.swapaxes(1, 2).reshape(tensor.shape)
        ours = WHOLE.get(base) or f"blk.{base.split('.')[2]}.{NAMES[base.split('.', 3)[3]]}"
        numbers = tensor.contiguous().numpy()
        if numbers.ndim == 1:
            writer.add_tensor(f"{ours}.{what}", numbers)
        else:
            stored = gguf.quants.quantize(numbers, quantisation)
            writer.add_tensor(f"{ours}.{what}", stored, raw_dtype=quantisation)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
