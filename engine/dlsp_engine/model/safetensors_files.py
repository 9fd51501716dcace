"""The tensors of a checkpoint in safetensors files, one or several with an index: where each lies, checked before a
byte of it is read. The files are data; nothing in them is run.
"""

import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from gguf import GGMLQuantizationType

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"

# The largest tokenizer.json of a known model has 34 MB, 0.6 million lists and 1.9 million commas. A parsed list takes
# some 30 times its two brackets.
MAX_HEADER_BYTES, MAX_JSON_BYTES, MAX_LISTS, MAX_COMMAS = 8_000_000, 40_000_000, 1_500_000, 4_000_000
MAX_TENSORS = 100_000

# safetensors' name of a dtype -> GGUF's, the bytes of a number, and how numpy reads it.
DTYPES = {
    "F32": (GGMLQuantizationType.F32, 4, "float32"),
    "F16": (GGMLQuantizationType.F16, 2, "float16"),
    "BF16": (GGMLQuantizationType.BF16, 2, "uint8"),
}

Json = dict[str, Any]


@dataclass(frozen=True)
class Stored:
    """Where a tensor lies: `offset` in bytes from the beginning of `file`, a name in the checkpoint's folder."""

    file: str
    offset: int
    dtype: str
    shape: tuple[int, ...]


def read_json(path: Path) -> Json:
    """The object in a JSON file. Raises ValueError with the reason if there is none, or it is very large, or names a
    key twice.
    """
    if path.stat().st_size > MAX_JSON_BYTES:
        raise ValueError(f"{path.name} has more than {MAX_JSON_BYTES:,} bytes")
    return _object(path.read_bytes(), path.name)


def tensors_in(folder: Path) -> dict[str, Stored]:
    """All tensors of the checkpoint in a folder, by name. Raises ValueError with the reason, or OSError."""
    if (folder / SINGLE).is_file():
        return _tensors_of(folder / SINGLE)
    if not (folder / INDEX).is_file():
        found = sorted(each.name for each in folder.iterdir())
        pickled = [name for name in found if name.endswith((".bin", ".pt", ".pth", ".ckpt"))]
        if pickled:
            raise ValueError(
                f"its weights are pickled ({pickled[0]}), which the engine never reads; take one in safetensors or GGUF"
            )
        raise ValueError(f"it has neither {SINGLE} nor {INDEX}")
    places = read_json(folder / INDEX).get("weight_map")
    if not isinstance(places, dict) or len(cast("Json", places)) > MAX_TENSORS:
        raise ValueError(f"{INDEX} has no usable weight_map")
    tensors: dict[str, Stored] = {}
    for name in sorted({str(file) for file in cast("Json", places).values()}):
        if Path(name).name != name or "\\" in name or not name.endswith(".safetensors"):
            raise ValueError(f"{INDEX} names {name[:60]!r}, which is no safetensors file of its folder")
        if not (folder / name).is_file():
            raise ValueError(f"{INDEX} names {name}, which is not there")
        tensors |= _tensors_of(folder / name)
    for tensor, file in cast("Json", places).items():
        if tensor not in tensors or tensors[tensor].file != file:
            raise ValueError(f"{INDEX} says that {file} has a tensor {tensor[:80]}, and it has none")
    if extra := tensors.keys() - places.keys():
        raise ValueError(f"{INDEX} does not name {min(extra)[:80]}")
    return tensors


def _tensors_of(path: Path) -> dict[str, Stored]:
    size = path.stat().st_size
    with path.open("rb") as file:
        begin = file.read(8)
        (length,) = struct.unpack("<Q", begin) if len(begin) == 8 else (MAX_HEADER_BYTES + 1,)
        if length > min(MAX_HEADER_BYTES, size - 8):
            raise ValueError(f"{path.name} is damaged: its header is cut off or too long")
        header = _object(file.read(length), path.name)
    header.pop("__metadata__", None)
    if len(header) > MAX_TENSORS:
        raise ValueError(f"{path.name} has {len(header):,} tensors")
    found = {name: _stored(path.name, name, about) for name, about in header.items()}
    end = 0
    for name, (stored, begins, ends) in sorted(found.items(), key=lambda item: item[1][1:]):
        if begins != end or ends < begins:
            raise ValueError(f"{path.name} is damaged: {name[:80]} does not begin where the tensor before it ends")
        if stored.dtype in DTYPES and ends - begins != math.prod(stored.shape) * DTYPES[stored.dtype][1]:
            raise ValueError(f"{path.name} is damaged: {name[:80]} has {ends - begins:,} bytes for {[*stored.shape]}")
        end = ends
    if 8 + length + end != size:
        raise ValueError(f"{path.name} is damaged or incomplete: it has {size:,} bytes, not {8 + length + end:,}")
    return {
        name: Stored(stored.file, 8 + length + begins, stored.dtype, stored.shape)
        for name, (stored, begins, _) in found.items()
    }


def _stored(file: str, name: str, about: Any) -> tuple[Stored, int, int]:
    """The tensor, and where it begins and ends within the file's data."""
    try:
        dtype, shape, (begins, ends) = about["dtype"], tuple(about["shape"]), about["data_offsets"]
    except (TypeError, KeyError, ValueError):
        raise ValueError(f"{file} is damaged: it does not say where {name[:80]} lies") from None
    numbers = (*shape, begins, ends)
    if not isinstance(dtype, str) or any(type(each) is not int or not 0 <= each < 2**63 for each in numbers):
        raise ValueError(f"{file} is damaged: {name[:80]} has sizes that no tensor has")
    return Stored(file, 0, dtype, shape), begins, ends


def _object(content: bytes, name: str) -> Json:
    if content.count(b"[") + content.count(b"{") > MAX_LISTS or content.count(b",") > MAX_COMMAS:
        raise ValueError(f"{name} has more in it than any model's")
    try:
        found = json.loads(content, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is damaged ({str(error)[:100]})") from None
    if not isinstance(found, dict):
        raise ValueError(f"{name} holds no JSON object")
    return cast("Json", found)


def _once(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in it")
    return found
