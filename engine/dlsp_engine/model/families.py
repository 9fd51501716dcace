"""What tells families of causal models apart, and where their tensors lie in each format of files."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.update import Update

DEFAULT_THETA = 10_000.0  # where a file says none

# Our name within a layer -> the tensors that are concatenated along their outputs.
Names = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Family:
    """A family; all have RoPE and grouped heads. Fields of the same names as `Architecture`'s mean the same."""

    bias: bool = False  # of queries, keys and values
    head_norm: bool = False
    layer_norm: bool = False
    gelu: bool = False
    interleaved: bool = False  # in GGUF, element 2i of a query or key head is element i, and 2i + 1 element i + d / 2
    names: Names | None = None  # other names in the hub's files than the usual ones


# In GGUF, without the block's number.
GGUF: Names = {
    "qkv.weight": ("attn_q.weight", "attn_k.weight", "attn_v.weight"),
    "qkv.bias": ("attn_q.bias", "attn_k.bias", "attn_v.bias"),
    "out.weight": ("attn_output.weight",),
    "out.bias": ("attn_output.bias",),
    "gate_up.weight": ("ffn_gate.weight", "ffn_up.weight"),
    "gate_up.bias": ("ffn_up.bias",),
    "down.weight": ("ffn_down.weight",),
    "down.bias": ("ffn_down.bias",),
    "attention_norm": ("attn_norm.weight",),
    "attention_norm.bias": ("attn_norm.bias",),
    "mlp_norm": ("ffn_norm.weight",),
    "mlp_norm.bias": ("ffn_norm.bias",),
    "head_norm": ("attn_q_norm.weight", "attn_k_norm.weight"),
}

# In the hub's files, without the layer's number.
HUB: Names = {
    "qkv.weight": ("self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight"),
    "qkv.bias": ("self_attn.q_proj.bias", "self_attn.k_proj.bias", "self_attn.v_proj.bias"),
    "out.weight": ("self_attn.o_proj.weight",),
    "out.bias": ("self_attn.o_proj.bias",),
    "gate_up.weight": ("mlp.gate_proj.weight", "mlp.up_proj.weight"),
    "down.weight": ("mlp.down_proj.weight",),
    "attention_norm": ("input_layernorm.weight",),
    "attention_norm.bias": ("input_layernorm.bias",),
    "mlp_norm": ("post_attention_layernorm.weight",),
    "mlp_norm.bias": ("post_attention_layernorm.bias",),
    "head_norm": ("self_attn.q_norm.weight", "self_attn.k_norm.weight"),
}

STARCODER2: Names = {
    "gate_up.weight": ("mlp.c_fc.weight",),
    "gate_up.bias": ("mlp.c_fc.bias",),
    "down.weight": ("mlp.c_proj.weight",),
    "down.bias": ("mlp.c_proj.bias",),
}

FAMILIES = {  # by the names that GGUF and the hub have for them
    "qwen2": Family(bias=True),
    "qwen3": Family(head_norm=True),
    "llama": Family(interleaved=True),
    "starcoder2": Family(bias=True, layer_norm=True, gelu=True, names=STARCODER2),
}


def tensors(shape: Architecture, names: Names) -> dict[str, dict[str, tuple[int, ...]]]:
    """The tensors of a layer in a format of files: our name -> their names, in the order in which they are
    concatenated -> their shapes.
    """
    family, queries, keys = FAMILIES[shape.family], shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    outs = {
        "qkv": (queries, keys, keys),
        "out": (shape.dim,),
        "gate_up": (shape.ff,) * shape.mlp_parts,
        "down": (shape.dim,),
    }
    ins = {"qkv": shape.dim, "out": queries, "gate_up": shape.dim, "down": shape.ff}
    known: dict[str, tuple[tuple[int, ...], ...]] = {
        f"{name}.weight": tuple((out, ins[name]) for out in each) for name, each in outs.items()
    }
    if family.bias:
        known["qkv.bias"] = tuple((out,) for out in outs["qkv"])
    known |= {"attention_norm": ((shape.dim,),), "mlp_norm": ((shape.dim,),)}
    if shape.layer_norm:
        known |= {f"{name}.bias": tuple((out,) for out in outs[name]) for name in ("out", "gate_up", "down")}
        known |= {"attention_norm.bias": ((shape.dim,),), "mlp_norm.bias": ((shape.dim,),)}
    if shape.head_norm:
        known["head_norm"] = ((shape.head_dim,),) * 2
    # A family without a gate has the last of the tensors that others concatenate.
    return {ours: dict(zip(names[ours][-len(sizes) :], sizes, strict=True)) for ours, sizes in known.items()}


def fused(
    number: int, shape: Architecture, parts: Mapping[str, list[Tensor]], update: Update | None
) -> dict[str, Tensor]:
    """The tensors of layer `number` by our names, with the update added. `parts` are those that are concatenated."""
    made: dict[str, Tensor] = {}
    for name, some in parts.items():
        if name == "head_norm":
            counts = shape.heads, shape.kv_heads
            some = [part.expand(count, -1) for part, count in zip(some, counts, strict=True)]
        made[f"layers.{number}.{name}"] = torch.cat(some)
    made.setdefault(f"layers.{number}.qkv.bias", torch.zeros(shape.qkv, dtype=torch.bfloat16))
    if update:
        update.add_to(made, shape, [number])
    return made
