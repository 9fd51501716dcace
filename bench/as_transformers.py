"""A model of ours as Hugging Face transformers knows it: its description, and its weights by their names there."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from dlsp_engine.model.architecture import Architecture
    from dlsp_engine.model.weights import Weights


def configuration(shape: "Architecture", **more: Any) -> Any:
    """transformers' description of a Qwen2 model of this shape."""
    from transformers import Qwen2Config

    return Qwen2Config(
        vocab_size=shape.vocab,
        hidden_size=shape.dim,
        intermediate_size=shape.ff,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        rms_norm_eps=shape.eps,
        rope_parameters={"rope_type": "default", "rope_theta": shape.theta},
        tie_word_embeddings=shape.tied,
        **more,
    )


def named(weights: "Weights") -> dict[str, "Tensor"]:
    """Our fused matrices as views under the names that transformers gives them."""
    shape = weights.architecture
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    found = {
        "model.embed_tokens.weight": weights.embedding,
        "lm_head.weight": weights.head,
        "model.norm.weight": weights.norm,
    }
    for number, layer in enumerate(weights.layers):
        at = f"model.layers.{number}."
        for name, matrix, bias in zip(
            "qkv", layer.qkv.split([queries, keys, keys]), layer.qkv_bias.split([queries, keys, keys]), strict=True
        ):
            found |= {f"{at}self_attn.{name}_proj.weight": matrix, f"{at}self_attn.{name}_proj.bias": bias}
        gate, up = layer.gate_up.split(shape.ff)
        found |= {
            f"{at}self_attn.o_proj.weight": layer.out,
            f"{at}mlp.gate_proj.weight": gate,
            f"{at}mlp.up_proj.weight": up,
            f"{at}mlp.down_proj.weight": layer.down,
            f"{at}input_layernorm.weight": layer.attention_norm,
            f"{at}post_attention_layernorm.weight": layer.mlp_norm,
        }
    return found
