"""Weights read from a GGUF file: the same to the bit as the converted ones, of which an int8 engine keeps no file."""

from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import gguf as gguf_format
import numpy as np
import pytest
import torch

from dlsp_engine.model import convert, int8_file
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.gguf_checkpoint import Gguf, Place
from dlsp_engine.model.source import Description, StoredRows, StoredWeights
from dlsp_engine.model.update import Update
from dlsp_engine.model.weights import Weights
from dlsp_kernels.int8_linear.kinds import best
from tests.engine import gguf_file
from tests.engine.test_update import SHAPE, update_of, write_update


@pytest.fixture(autouse=True)
def no_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    made = SimpleNamespace(save=lambda path: Path(path).write_text("{}"))
    monkeypatch.setattr(convert, "tokenizer_from_gguf", lambda *_: made)


@pytest.fixture
def tiny_gguf(tmp_path: Path) -> Path:
    path = tmp_path / "models" / "m.gguf"
    path.parent.mkdir()
    gguf_file.write(path, SHAPE.layers, SHAPE.dim, SHAPE.ff, SHAPE.vocab)
    return path


def quiet(_: str) -> None:
    pass


def both(cache: Path, gguf: Path, update: Update | None) -> tuple[StoredWeights, Weights]:
    folder = convert.converted(gguf, cache, quiet, update, dense=False)
    assert not (folder / "weights.safetensors").exists()
    read = StoredWeights(gguf, Description.load(folder / convert.ABOUT), update)
    assert convert.converted(gguf, cache, quiet, update) == folder
    return read, Weights.load(folder, torch.bfloat16)


@pytest.mark.parametrize("updated", [True, False])
def test_they_are_the_converted_ones(tmp_path: Path, tiny_gguf: Path, updated: bool) -> None:
    write_update(tiny_gguf)
    read, kept = both(tmp_path, tiny_gguf, update_of(tiny_gguf) if updated else None)
    assert read.architecture == kept.architecture
    assert torch.equal(read.norm, kept.norm)
    assert len(read.layers) == len(kept.layers)
    for mine, other in zip(read.layers, kept.layers, strict=True):
        assert all(torch.equal(tensor, getattr(other, name)) for name, tensor in mine.tensors().items())
    assert torch.equal(torch.cat(list(read.embedding.split(9))), kept.embedding)
    assert torch.equal(read.embedding[:11], kept.embedding[:11])
    assert torch.equal(read.embedding[7], kept.embedding[7])
    numbers = torch.tensor([3, 60, 3])
    assert torch.equal(read.embedding[numbers], kept.embedding[numbers])


@pytest.mark.parametrize("kind", ["Q8_0", "Q5_0", "Q4_0", "F16", "BF16", "F32"])
def test_a_row_is_what_the_whole_matrix_has_there(tmp_path: Path, kind: str) -> None:
    numbers = np.random.default_rng(0).standard_normal((40, 64), np.float32)
    quantisation = gguf_format.GGMLQuantizationType[kind]
    stored = gguf_format.quants.quantize(numbers, quantisation)
    (tmp_path / "rows").write_bytes(b"before" + stored.tobytes())
    place = Place(len("before"), int(quantisation), stored.shape[1], stored.dtype.name)
    whole = torch.from_numpy(np.array(gguf_format.quants.dequantize(stored, quantisation))).bfloat16()
    rows = StoredRows(tmp_path / "rows", place, len(numbers))
    assert torch.equal(torch.stack([rows[number] for number in range(40)]), whole)


@pytest.mark.skipif(best() is None, reason="no int8 matmul here")
def test_the_int8_file_is_the_same_and_no_other_is_kept(tmp_path: Path, tiny_gguf: Path) -> None:
    kind, adapter = best(), Adapter.random(SHAPE)
    assert kind
    folder = convert.converted(tiny_gguf, tmp_path, quiet, dense=False)
    read = StoredWeights(tiny_gguf, Description.load(folder / convert.ABOUT), None)
    int8_file.stored(folder, read, adapter, kind, quiet)
    (made,) = folder.glob("*.safetensors")
    digest = sha256(made.read_bytes()).digest()
    made.unlink()
    kept = Weights.load(convert.converted(tiny_gguf, tmp_path, quiet), torch.bfloat16)
    int8_file.stored(folder, kept, adapter, kind, quiet)
    assert sha256(made.read_bytes()).digest() == digest


@pytest.mark.model
def test_the_real_embedding(real, gguf: Path) -> None:
    """Quantised in the file; every hundredth row."""
    about = Gguf(gguf)
    rows = StoredRows(gguf, about.place(about.embedding), real.model.shape.vocab)
    numbers = range(0, real.model.shape.vocab, 100)
    found = torch.stack([rows[number] for number in numbers])
    assert torch.equal(found.float(), real.model.weights.embedding[list(numbers)])
