"""Converts a GGUF file to what the engine maps at start: bf16 safetensors with fused projections, and a tokenizer."""

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from dlsp_engine.errors import EngineError
from dlsp_engine.model import manifest
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.update import Update, sha256
from dlsp_engine.text.from_gguf import tokenizer_from_gguf

# The version of the layout. It is part of the folder's name, so that the engine never reads files of another version.
FORMAT = "1"

# Our name within a layer -> the GGUF tensors that are concatenated along their outputs.
FUSED = {
    "qkv.weight": ("attn_q.weight", "attn_k.weight", "attn_v.weight"),
    "qkv.bias": ("attn_q.bias", "attn_k.bias", "attn_v.bias"),
    "out.weight": ("attn_output.weight",),
    "gate_up.weight": ("ffn_gate.weight", "ffn_up.weight"),
    "down.weight": ("ffn_down.weight",),
    "attention_norm": ("attn_norm.weight",),
    "mlp_norm": ("ffn_norm.weight",),
}


Say = Callable[[str], None]


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)


def converted(gguf: Path, cache: Path, say: Say = _to_stderr, update: Update | None = None) -> Path:
    """The folder with `weights.safetensors` and `tokenizer.json` for this GGUF file. Converts the file on first use.

    `update` is added to the weights if it was trained for this file. When two engines start at once, one converts and
    the other waits. A conversion that was killed is started again, and so is one whose files are no longer what their
    manifests describe. Afterwards, conversions of the same file with another update are removed, and so are those of a
    file that this one has replaced.

    `say` reports progress. Raises EngineError when the folder cannot be written.
    """
    version = f"{FORMAT}-u{update.sha256[:12]}" if update else FORMAT
    folder = cache / "converted" / f"{gguf.stem}-{_content(gguf)}-{version}"
    weights, tokenizer = folder / "weights.safetensors", folder / "tokenizer.json"
    files = (weights, tokenizer)
    manifest.sweep(folder)
    if all(map(manifest.whole, files)):
        return folder
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(folder / manifest.LOCK):
            if not all(map(manifest.whole, files)):
                damaged = any(manifest.path_of(file).exists() for file in files)
                say(f"converting {gguf.name}{' again, since it was damaged' if damaged else ', once for this machine'}")
                if update and not update.belongs_to(gguf):
                    say(f"{gguf.name} is not the file that the infill update was trained for: it is left as it is")
                    update = None
                _tokenizer(gguf, tokenizer)
                _weights(gguf, weights, say, update)
                _forget_others(folder, replaced=gguf.parent == cache / "models")
    except (OSError, SafetensorError) as error:  # safetensors raises its own error on a full disk
        why = getattr(error, "strerror", None) or error
        raise EngineError(
            f"The model could not be converted into {folder} ({why}); free some space or set "
            "DLSP_CACHE_DIR to a folder that can be written."
        ) from error
    return folder


def _content(gguf: Path) -> str:
    """The first 12 hex digits of the file's SHA-256, which are the same for every copy of the file.

    They are taken from the note that `dlsp model pull` writes next to the file, if the file has not changed since.
    """
    stat = gguf.stat()
    try:
        note = json.loads(gguf.with_name(f"{gguf.name}.accepted").read_text())
        if (note["size"], note["mtime_ns"]) == (stat.st_size, stat.st_mtime_ns):
            return str(note["sha256"])[:12]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return sha256(gguf)[:12]


def update_in(folder: Path) -> str:
    """The SHA-256 of the infill update that was added to these converted weights; empty if none was."""
    with safe_open(folder / "weights.safetensors", framework="pt") as file:
        return file.metadata().get("update", "")


_FOLDER = re.compile(r"(?P<stem>.+)-(?P<file>\d+-\d+|[0-9a-f]{12})-(?P<format>\d+)(?:-u[0-9a-f]{12})?")


def _forget_others(folder: Path, replaced: bool) -> None:
    """Remove the conversions of this file in this format with another update, or with none.

    If the file has `replaced` another one of its name, remove all conversions of that file as well.
    """
    mine = _FOLDER.fullmatch(folder.name)
    for each in folder.parent.iterdir():
        other = _FOLDER.fullmatch(each.name)
        if not mine or not other or other["stem"] != mine["stem"] or each == folder:
            continue
        same = other["file"] == mine["file"]
        if (same and other["format"] == FORMAT) or (not same and replaced):
            shutil.rmtree(each, ignore_errors=True)


def architecture(reader: GGUFReader) -> Architecture:
    """The model's sizes, read from the file's metadata. Raises EngineError if the model is not of the Qwen2 family."""

    def value(key: str) -> Any:
        field = reader.get_field(key)
        return None if field is None else field.contents()

    if (family := value("general.architecture")) != "qwen2":
        raise EngineError(f"This GGUF file holds a {family} model; the engine runs the Qwen2 family only.")
    dim, heads = int(value("qwen2.embedding_length")), int(value("qwen2.attention.head_count"))
    return Architecture(
        layers=int(value("qwen2.block_count")),
        dim=dim,
        heads=heads,
        kv_heads=int(value("qwen2.attention.head_count_kv")),
        head_dim=dim // heads,
        ff=int(value("qwen2.feed_forward_length")),
        vocab=next(int(t.shape[1]) for t in reader.tensors if t.name == "token_embd.weight"),
        theta=float(value("qwen2.rope.freq_base")),
        eps=round(float(value("qwen2.attention.layer_norm_rms_epsilon")), 12),
    )


def _tensors(reader: GGUFReader, layers: int) -> Iterator[tuple[str, Tensor]]:
    raw = {tensor.name: tensor for tensor in reader.tensors}

    def load(name: str) -> Tensor:
        values = dequantize(raw[name].data, raw[name].tensor_type)
        return torch.from_numpy(np.array(values, np.float32)).bfloat16()

    # Embedding and head are the same matrix, which some files store twice; the head's copy is quantised less coarsely.
    yield "embedding", load("output.weight" if "output.weight" in raw else "token_embd.weight")
    yield "norm", load("output_norm.weight")
    for layer in range(layers):
        for ours, theirs in FUSED.items():
            yield f"layers.{layer}.{ours}", torch.cat([load(f"blk.{layer}.{name}") for name in theirs])


def _weights(gguf: Path, target: Path, say: Say, update: Update | None) -> None:
    reader = GGUFReader(gguf)
    shape = architecture(reader)
    tensors: dict[str, Tensor] = {}
    for name, tensor in _tensors(reader, shape.layers):
        tensors[name] = tensor
        if name.endswith("qkv.weight") and (layer := int(name.split(".")[1])) % 4 == 0:
            say(f"dequantising layer {layer} of {shape.layers}")
    metadata = {"architecture": shape.to_json(), "source": gguf.name}
    if update:
        say("adding the infill update")
        update.add_to(tensors, shape)
        metadata["update"] = update.sha256
    say("writing the converted weights")
    partial = target.with_suffix(".partial")
    try:
        save_file(tensors, partial, metadata=metadata)
        manifest.publish(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def _tokenizer(gguf: Path, target: Path) -> None:
    partial = target.with_suffix(".partial")
    tokenizer_from_gguf(GGUFReader(gguf)).save(str(partial))
    manifest.publish(partial, target)
