"""A checkpoint in a folder: `config.json` and safetensors files, as the model hub's libraries write them. What the
engine cannot run is refused on opening.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from gguf import GGMLQuantizationType
from torch import Tensor

from dlsp_engine.errors import EngineError, out_of_memory
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.convention import STATED, Convention
from dlsp_engine.model.families import FAMILIES, HUB, Names, fused, tensors
from dlsp_engine.model.gguf_checkpoint import COMPARED_ROWS, Place, bf16
from dlsp_engine.model.hub_config import Refuse, architecture
from dlsp_engine.model.safetensors_files import DTYPES, Stored, read_json, tensors_in
from dlsp_engine.model.update import Update

CONFIG = "config.json"
EMBEDDING, HEAD, NORM = "model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"
NORM_BIAS = "model.norm.bias"

# A buffer that old libraries saved, which the sizes say again.
IGNORED = ".self_attn.rotary_emb.inv_freq"


class Safetensors:
    """An open checkpoint. Raises EngineError with the reason if it is damaged or the engine cannot run its model."""

    norm, norm_bias = NORM, NORM_BIAS

    def __init__(self, folder: Path) -> None:
        self.path, self._refuse = folder, refusal(folder)
        with reading(folder):
            self._stored = {name: at for name, at in tensors_in(folder).items() if not name.endswith(IGNORED)}
        if EMBEDDING not in self._stored or len(self._stored[EMBEDDING].shape) != 2:
            raise self._refuse(f"it has no tensor {EMBEDDING}")
        self.architecture = described(folder, self._stored[EMBEDDING].shape[0])
        self._check_tensors()
        self.embedding = EMBEDDING
        self.head = EMBEDDING if self.architecture.tied else HEAD
        if self.architecture.tied and HEAD in self._stored and not self._same(EMBEDDING, HEAD):
            raise self._refuse(f"config.json says that {HEAD} is the embedding, and it is not")

    @property
    def parameters(self) -> int:
        """How many numbers the model has."""
        return sum(map(math.prod, demanded_tensors(self.architecture).values()))

    def tensor(self, name: str) -> Tensor:
        """A tensor by its name in the files, in bf16."""
        return self._rows(name, 1).reshape(self._stored[name].shape)

    def layer(self, number: int, update: Update | None) -> dict[str, Tensor]:
        """The tensors of one layer by our names, with the update added."""
        shape, prefix = self.architecture, f"model.layers.{number}"
        parts = {
            ours: [self.tensor(f"{prefix}.{name}") for name in theirs]
            for ours, theirs in tensors(shape, _names(shape)).items()
        }
        return fused(number, shape, parts, update)

    def place(self, name: str) -> Place:
        """Where the rows of the tensor `name` lie."""
        at = self._stored[name]
        kind, number_bytes, dtype = DTYPES[at.dtype]
        columns = at.shape[1] if len(at.shape) == 2 else 1
        return Place(at.offset, int(kind), columns * (number_bytes if dtype == "uint8" else 1), dtype, at.file)

    def _check_tensors(self) -> None:
        """Each tensor must be there and have the shape that the sizes demand; no other may be there, since the model
        would need what we do not compute.
        """
        shape = self.architecture
        if shape.layers > len(self._stored):
            raise self._refuse(f"config.json says {shape.layers} layers, and it has {len(self._stored)} tensors")
        demanded = demanded_tensors(shape)
        for name, size in demanded.items():
            if name not in self._stored:
                raise self._refuse(f"it has no tensor {name}")
            self._check(name, self._stored[name], size)
        if HEAD in self._stored:
            self._check(HEAD, self._stored[HEAD], demanded[EMBEDDING])
        if unknown := sorted(self._stored.keys() - demanded.keys() - {HEAD}):
            raise self._refuse(
                f"it has a tensor {unknown[0][:80]}, which the engine does not know in the family {shape.family}"
            )

    def _check(self, name: str, at: Stored, size: tuple[int, ...]) -> None:
        if at.shape != size:
            raise self._refuse(f"{name} has the shape {[*at.shape]}, and {[*size]} by the sizes in config.json")
        if at.dtype not in DTYPES:
            raise self._refuse(f"{name} is of the dtype {at.dtype[:20]}, and the engine reads {', '.join(DTYPES)}")

    def _same(self, one: str, other: str) -> bool:
        """By some of their rows."""
        step = max(1, self.architecture.vocab // COMPARED_ROWS)
        return torch.equal(self._rows(one, step), self._rows(other, step))

    def _rows(self, name: str, step: int) -> Tensor:
        """Every `step`-th row of a tensor, as rows [n, columns] in bf16."""
        place, count = self.place(name), self._stored[name].shape[0]
        rows = np.memmap(self.path / place.file, place.dtype, "r", place.offset, (count, place.columns))
        return bf16(rows[::step], GGMLQuantizationType(place.kind))


def described(folder: Path, vocab: int | None = None) -> Architecture:
    """What a checkpoint is, by all that its folder holds besides weights. `vocab` is the number of rows of its
    embedding, if that is known. Raises EngineError with the reason if the engine cannot run it.
    """
    refuse = refusal(folder)
    with reading(folder):
        config = read_json(folder / CONFIG)
        stated = read_json(folder / STATED) if (folder / STATED).exists() else {}
    if vocab is None:
        vocab = config.get("vocab_size")
        if type(vocab) is not int or not 0 < vocab < 2**24:
            raise refuse(f"{CONFIG} says {vocab} for vocab_size, where a positive number belongs")
    if "family" in stated:  # whose code the checkpoint's own repository has, and the engine never runs
        config = {key: value for key, value in config.items() if key not in ("auto_map", "architectures")}
        config["model_type"] = stated.pop("family")
    try:
        convention = Convention.stated(stated, vocab)
    except EngineError as error:
        raise refuse(f"of its {STATED}: {str(error).removesuffix('.')}") from error
    return replace(architecture(config, vocab, refuse), convention=convention)


def refusal(folder: Path) -> Refuse:
    """Makes an error of a reason why the checkpoint in a folder cannot be run."""
    return lambda why: EngineError(f"The engine cannot run {folder.name}: {' '.join(why.split())}.")


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Turns whatever reading a checkpoint's files raises into an EngineError, but for a lack of memory."""
    refuse = refusal(folder)
    try:
        yield
    except FileNotFoundError as error:
        raise refuse(f"it has no {Path(str(error.filename)).name}") from error
    except OSError as error:
        raise refuse(f"{error.filename} cannot be read ({error.strerror})") from error
    except Exception as error:  # whatever the damage leads to
        if out_of_memory(error):
            raise
        raise refuse(str(error)) from error


def demanded_tensors(shape: Architecture) -> dict[str, tuple[int, ...]]:
    """The tensors that the files must hold: name -> shape; the head only if it is no copy of the embedding."""
    whole: dict[str, tuple[int, ...]] = {EMBEDDING: (shape.vocab, shape.dim), NORM: (shape.dim,)}
    if shape.layer_norm:
        whole[NORM_BIAS] = (shape.dim,)
    if not shape.tied:
        whole[HEAD] = (shape.vocab, shape.dim)
    for each in tensors(shape, _names(shape)).values():
        whole |= {f"model.layers.{layer}.{name}": size for layer in range(shape.layers) for name, size in each.items()}
    return whole


def _names(shape: Architecture) -> Names:
    return {**HUB, **(FAMILIES[shape.family].names or {})}
