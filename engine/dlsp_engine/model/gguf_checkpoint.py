"""A checkpoint in a GGUF file: its sizes, and its tensors in bf16. What the engine cannot run is refused on opening."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFReader, ReaderTensor
from gguf.quants import dequantize
from torch import Tensor

from dlsp_engine.errors import EngineError, out_of_memory
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.convention import Convention
from dlsp_engine.model.families import DEFAULT_THETA, FAMILIES, GGUF, fused, tensors
from dlsp_engine.model.update import Update
from dlsp_engine.text import gguf_header

# The elements and the bytes of a block, by GGUF's number of the kind of quantisation.
BLOCKS = {int(kind): size for kind, size in GGML_QUANT_SIZES.items()}
ROPE_DIVISORS = "rope_freqs.weight"
EMBEDDING, HEAD, NORM = "token_embd.weight", "output.weight", "output_norm.weight"
NORM_BIAS = "output_norm.bias"

# How many rows of embedding and head are compared, and the most that two quantisations of one matrix differ relative to
# its norm. Q2_K, the coarsest, differs by 0.3; a matrix of its own by 1 or more.
COMPARED_ROWS, MAX_DIFFERENCE = 64, 0.5


@dataclass(frozen=True)
class Place:
    """Where the rows of a matrix lie in a checkpoint's file."""

    offset: int  # of the first row, in bytes
    kind: int  # GGUF's number of the kind of quantisation
    columns: int  # stored numbers of a row
    dtype: str  # of a stored number
    file: str = ""  # its name, if the checkpoint is a folder


class Gguf:
    """An open GGUF file. Raises EngineError with the reason if it is damaged or the engine cannot run its model."""

    norm, norm_bias = NORM, NORM_BIAS

    def __init__(self, path: Path) -> None:
        try:
            gguf_header.check(path, BLOCKS)
            self.reader = GGUFReader(path)
        except Exception as error:  # the library raises whatever the damage leads to
            if out_of_memory(error):
                raise
            raise EngineError(f"{path} is damaged or no GGUF file ({_words(error)}); get the file again.") from error
        self._name = path.name
        self._raw = {tensor.name: tensor for tensor in self.reader.tensors}
        shape = _architecture(self.reader, self._raw, self._refuse)
        self._check_tensors(shape)
        self.architecture = replace(shape, tied=self._tied())
        # A tied matrix is stored twice in some files; the head's copy is quantised less coarsely.
        stored_twice = self.architecture.tied and HEAD in self._raw
        self.embedding = HEAD if stored_twice else EMBEDDING
        self.head = self.embedding if self.architecture.tied else HEAD

    @property
    def parameters(self) -> int:
        """How many numbers the model has; a matrix that is stored twice counts once."""
        sizes = demanded_tensors(self.architecture)
        return sum(map(math.prod, sizes.values())) + (0 if self.architecture.tied else math.prod(sizes[EMBEDDING]))

    def tensor(self, name: str) -> Tensor:
        """A tensor by its name in the file, in bf16."""
        raw = self._raw[name]
        try:
            return bf16(raw.data, raw.tensor_type)
        except NotImplementedError as error:
            raise self._refuse(f"{name} is of the kind {raw.tensor_type.name}, which cannot be read") from error

    def layer(self, number: int, update: Update | None) -> dict[str, Tensor]:
        """The tensors of one layer by our names, with the update added."""
        shape = self.architecture
        parts = {
            ours: [self.tensor(f"blk.{number}.{name}") for name in theirs]
            for ours, theirs in tensors(shape, GGUF).items()
        }
        if FAMILIES[shape.family].interleaved:
            for ours in parts.keys() & {"qkv.weight", "qkv.bias"}:
                parts[ours][:2] = (_halves(part, shape.head_dim) for part in parts[ours][:2])
        return fused(number, shape, parts, update)

    def place(self, name: str) -> Place:
        """Where the rows of the matrix `name` lie in the file."""
        raw = self._raw[name]
        rows = raw.data.reshape(self.architecture.vocab, -1)
        return Place(int(raw.data_offset), int(raw.tensor_type), rows.shape[1], rows.dtype.name)

    def _check_tensors(self, shape: Architecture) -> None:
        """Each tensor must be there and have the shape that the sizes demand; no other may be there, since the model
        would need what we do not compute.
        """
        demanded = demanded_tensors(shape)
        for name, size in demanded.items():
            if name not in self._raw:
                raise self._refuse(f"it has no tensor {name}")
            if (found := _size(self._raw[name])) != size:
                raise self._refuse(f"{name} has the shape {list(found)}, and {list(size)} by the sizes in the metadata")
        if HEAD in self._raw and (found := _size(self._raw[HEAD])) != demanded[EMBEDDING]:
            raise self._refuse(f"{HEAD} has the shape {list(found)}, and {EMBEDDING} {list(demanded[EMBEDDING])}")
        if unknown := sorted(self._raw.keys() - demanded.keys() - {HEAD, ROPE_DIVISORS}):
            raise self._refuse(
                f"it has a tensor {unknown[0]}, which the engine does not know in the family {shape.family}"
            )

    def _tied(self) -> bool:
        """Whether embedding and head are one matrix. A file may store it twice, each time quantised in another way, or
        leave the embedding blank (bench/gpu/pack.py).
        """
        if HEAD not in self._raw:
            return True
        raw = self._raw[EMBEDDING], self._raw[HEAD]
        step = max(1, len(raw[0].data) // COMPARED_ROWS)
        embedding, head = (bf16(each.data[::step], each.tensor_type).float() for each in raw)
        return not embedding.any() or bool((embedding - head).norm() < MAX_DIFFERENCE * head.norm())

    def _refuse(self, why: str) -> EngineError:
        return EngineError(f"The engine cannot run {self._name}: {why}.")


def demanded_tensors(shape: Architecture) -> dict[str, tuple[int, ...]]:
    """The tensors that a file must hold: name -> shape. The head is not among them."""
    whole: dict[str, tuple[int, ...]] = {EMBEDDING: (shape.vocab, shape.dim), NORM: (shape.dim,)}
    if shape.layer_norm:
        whole[NORM_BIAS] = (shape.dim,)
    for each in tensors(shape, GGUF).values():
        whole |= {f"blk.{layer}.{name}": size for layer in range(shape.layers) for name, size in each.items()}
    return whole


def _halves(rows: Tensor, head_dim: int) -> Tensor:
    """Rows [heads * head_dim, ...] of interleaved heads, in the order that RoPE has here: first halves, then second."""
    return rows.unflatten(0, (-1, head_dim // 2, 2)).transpose(1, 2).flatten(0, 2)


def bf16(data: np.ndarray, kind: GGMLQuantizationType) -> Tensor:
    """Stored rows of this kind of quantisation, dequantised."""
    return torch.from_numpy(np.array(dequantize(data, kind), np.float32)).bfloat16()


def _size(tensor: ReaderTensor) -> tuple[int, ...]:
    """The tensor's shape, as PyTorch has it: GGUF says the innermost dimension first."""
    return tuple(int(each) for each in reversed(tensor.shape))


def _architecture(
    reader: GGUFReader, stored: dict[str, ReaderTensor], refuse: Callable[[str], EngineError]
) -> Architecture:
    """The model's sizes, read from the metadata, as if it were tied. Raises what `refuse` makes of a reason."""

    def value(key: str) -> Any:
        field = reader.get_field(key)
        return None if field is None else field.contents()

    family = value("general.architecture")
    if family not in FAMILIES:
        raise refuse(f"it is a model of the family {family or 'unknown'}, and the engine runs {', '.join(FAMILIES)}")

    def size(key: str) -> int:
        found = value(f"{family}.{key}")
        if type(found) is not int or found < 1:
            raise refuse(f"its metadata say {found} for {family}.{key}, where a positive number belongs")
        return found

    def number(key: str) -> float:
        found = value(f"{family}.{key}")
        if not isinstance(found, int | float) or not 0 < found < float("inf"):
            raise refuse(f"its metadata say {found} for {family}.{key}, where a positive number belongs")
        return float(found)

    def known(key: str) -> bool:
        return value(f"{family}.{key}") is not None

    def divisors(count: int) -> tuple[float, ...]:
        """From a tensor, as for Llama 3, or one factor for all."""
        scaling = value(f"{family}.rope.scaling.type")
        if scaling not in (None, "none", "linear"):
            raise refuse(f"its positions are scaled by '{scaling}', which the engine does not compute")
        factor = number("rope.scaling.factor") if scaling == "linear" else 1.0
        given = np.ones(count, np.float32)
        if ROPE_DIVISORS in stored:
            given = np.asarray(stored[ROPE_DIVISORS].data)
            if given.shape != (count,) or given.dtype != np.float32 or not (np.isfinite(given) & (given > 0)).all():
                raise refuse(f"{ROPE_DIVISORS} is not {count} positive float32 numbers")
        scaled = tuple(float(each) * factor for each in given)
        return () if set(scaled) == {1.0} else scaled

    if (layers := size("block_count")) > len(stored):
        raise refuse(f"its metadata say {layers} layers, and it has {len(stored)} tensors")
    dim, heads = size("embedding_length"), size("attention.head_count")
    kv_heads = size("attention.head_count_kv") if known("attention.head_count_kv") else heads
    head_dim = size("attention.key_length") if known("attention.key_length") else dim // heads
    if heads % kv_heads or (dim % heads and not known("attention.key_length")):
        raise refuse(
            f"{heads} heads for queries and {kv_heads} for keys do not go with each other and its width of {dim}"
        )
    if head_dim % 2 or (known("attention.value_length") and size("attention.value_length") != head_dim):
        raise refuse(f"its heads of {head_dim} numbers, or those of its values, have a size that the engine cannot run")
    if known("rope.dimension_count") and size("rope.dimension_count") != head_dim:
        raise refuse("positions turn only a part of each of its heads, which the engine does not compute")
    if value(f"{family}.expert_count"):
        raise refuse(f"it has {family}.expert_count, which the engine does not compute")
    # Text beyond what a row sees is refused, so that all rows see all of it.
    contexts = [size(key) for key in ("context_length", "attention.sliding_window") if known(key)]
    if EMBEDDING not in stored:
        raise refuse(f"it has no tensor {EMBEDDING}")
    return Architecture(
        layers=layers,
        dim=dim,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        ff=size("feed_forward_length"),
        vocab=_size(stored[EMBEDDING])[0],
        theta=number("rope.freq_base") if known("rope.freq_base") else DEFAULT_THETA,
        eps=round(number(f"attention.layer_norm{'' if FAMILIES[family].layer_norm else '_rms'}_epsilon"), 12),
        family=family,
        head_norm=FAMILIES[family].head_norm,
        layer_norm=FAMILIES[family].layer_norm,
        gelu=FAMILIES[family].gelu,
        context=min(contexts, default=0),
        convention=Convention(suffix_first="mellum" in _name(reader)),
        rope_divisors=divisors(head_dim // 2),
    )


def _name(reader: GGUFReader) -> str:
    """The model's name in the metadata, in small letters."""
    field = reader.get_field("general.name")
    return bytes(field.parts[field.data[0]]).decode("utf-8", "replace").lower() if field and field.data else ""


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
