"""GGUF files of tiny random models."""

from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np


def write(
    path: Path,
    layers: int,
    dim: int,
    ff: int,
    vocab: int,
    kind: type[np.floating] = np.float32,
    family: str = "qwen2",
    tied: bool = True,
    change: Callable[[dict[str, np.ndarray]], object] = lambda tensors: None,
) -> dict[str, np.ndarray]:
    """With 4 heads, 2 of keys. The file has a head beside the embedding; `tied` makes them the same matrix. `change`
    is given the tensors before they are written. Returns the tensors.
    """
    shapes = {"token_embd.weight": (vocab, dim), "output.weight": (vocab, dim), "output_norm.weight": (dim,)}
    for i in range(layers):
        for name, out in (("attn_q", dim), ("attn_k", dim // 2), ("attn_v", dim // 2)):
            shapes |= {f"blk.{i}.{name}.weight": (out, dim), f"blk.{i}.{name}.bias": (out,)}
        shapes |= {f"blk.{i}.attn_output.weight": (dim, dim), f"blk.{i}.ffn_down.weight": (dim, ff)}
        shapes |= {f"blk.{i}.ffn_gate.weight": (ff, dim), f"blk.{i}.ffn_up.weight": (ff, dim)}
        shapes |= {f"blk.{i}.attn_norm.weight": (dim,), f"blk.{i}.ffn_norm.weight": (dim,)}
    rng = np.random.default_rng(0)
    tensors = {name: rng.standard_normal(shape, np.float32).astype(kind) for name, shape in shapes.items()}
    if tied:
        tensors["output.weight"] = tensors["token_embd.weight"]
    change(tensors)
    writer = gguf.GGUFWriter(path, family)
    writer.add_block_count(layers)
    writer.add_embedding_length(dim)
    writer.add_feed_forward_length(ff)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tensors
