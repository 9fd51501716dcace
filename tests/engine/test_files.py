"""Weights and adapters on disk: converted once, believed only when whole."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from dlsp_engine.errors import EngineError
from dlsp_engine.model import convert, hashes
from dlsp_engine.model.adapter import Adapter, projections
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.update import sha256
from dlsp_engine.model.weights import Weights
from tests.engine import gguf_file

SHAPE = Architecture(layers=2, dim=32, heads=4, kv_heads=2, head_dim=8, ff=48, vocab=70, theta=1e6, eps=1e-6)


def write_gguf(path: Path, family: str = "qwen2") -> dict[str, np.ndarray]:
    return gguf_file.write(path, SHAPE.layers, SHAPE.dim, SHAPE.ff, SHAPE.vocab, family=family)


@pytest.fixture
def no_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    made = SimpleNamespace(save=lambda path: Path(path).write_text("{}"))
    monkeypatch.setattr(convert, "tokenizer_from_gguf", lambda *_: made)


@pytest.mark.usefixtures("no_tokenizer")
def test_conversion_fuses_what_the_file_holds(tmp_path: Path):
    values = write_gguf(tmp_path / "m.gguf")
    said: list[str] = []
    folder = convert.converted(tmp_path / "m.gguf", tmp_path, said.append)
    weights = Weights.load(folder, torch.bfloat16)
    assert weights.architecture == SHAPE
    stacked = np.concatenate([values[f"blk.1.attn_{n}.weight"] for n in "qkv"])
    assert torch.equal(weights.layers[1].qkv, torch.from_numpy(stacked).bfloat16())
    assert torch.equal(weights.layers[0].gate_up[48:], torch.from_numpy(values["blk.0.ffn_up.weight"]).bfloat16())
    assert torch.equal(weights.embedding, torch.from_numpy(values["output.weight"]).bfloat16())
    assert said
    said.clear()
    assert convert.converted(tmp_path / "m.gguf", tmp_path, said.append) == folder
    assert not said, "the second start converts nothing"


@pytest.mark.usefixtures("no_tokenizer")
@pytest.mark.parametrize("noted", [True, False])
def test_a_copy_of_the_cache_is_converted_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noted: bool):
    """As for a new machine or from a backup; the times of its files are those of the copy."""
    (tmp_path / "cache" / "models").mkdir(parents=True)
    write_gguf(gguf := tmp_path / "cache" / "models" / "m.gguf")
    said: list[str] = []
    folder = convert.converted(gguf, tmp_path / "cache", said.append)
    assert said
    said.clear()
    copied = shutil.copytree(tmp_path / "cache", tmp_path / "copy")
    os.utime(copied / "models" / "m.gguf", (1, 1))
    if noted:
        stat = (copied / "models" / "m.gguf").stat()
        record = {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": sha256(gguf)}
        (copied / "models" / "m.gguf.accepted").write_text(json.dumps(record))
        monkeypatch.setattr(hashes, "sha256", lambda path: pytest.fail("the note says it"))
    assert convert.converted(copied / "models" / "m.gguf", copied, said.append) == copied / "converted" / folder.name
    assert not said


@pytest.mark.usefixtures("no_tokenizer")
def test_a_conversion_that_broke_off_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_gguf(tmp_path / "m.gguf")

    def half(tensors, path, metadata):
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(convert, "save_file", half)
        with pytest.raises(EngineError, match="free some space"):
            convert.converted(tmp_path / "m.gguf", tmp_path)
    assert not list(tmp_path.rglob("*.partial"))
    Weights.load(convert.converted(tmp_path / "m.gguf", tmp_path), torch.float32)


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """What writes more fails as on a full disk."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit there")
@pytest.mark.usefixtures("no_tokenizer")
def test_a_disk_that_is_full_is_one_sentence(tmp_path: Path):
    """The library that writes the weights says it in a way of its own."""
    write_gguf(tmp_path / "m.gguf")
    with no_file_larger_than(10_000), pytest.raises(EngineError, match="free some space"):
        convert.converted(tmp_path / "m.gguf", tmp_path)
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.usefixtures("no_tokenizer")
@pytest.mark.parametrize("short", [MemoryError("os error 12"), RuntimeError("unable to mmap: Cannot allocate memory")])
def test_weights_that_memory_lacks_for_are_not_taken_for_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: Exception
):
    """They would be converted again, which takes more."""

    def fail(*_: object, **__: object) -> None:
        raise short

    write_gguf(tmp_path / "m.gguf")
    folder = convert.converted(tmp_path / "m.gguf", tmp_path)
    monkeypatch.setattr("dlsp_engine.model.weights.safe_open", fail)
    with pytest.raises(type(short)):
        Weights.load(folder, torch.float32)


@pytest.mark.usefixtures("no_tokenizer")
def test_what_was_made_of_a_file_goes_when_another_took_its_place(tmp_path: Path):
    there = tmp_path / "models"
    there.mkdir()
    write_gguf(there / "m.gguf")
    old = convert.converted(there / "m.gguf", tmp_path)
    other_format = old.with_name(f"{old.name[:-1]}0")
    others = [old.with_name("m-2-3-4-5"), old.with_name("m-it-2-3-1"), old.with_name("m")]
    for each in (other_format, *others):
        each.mkdir()

    # Another file elsewhere takes nobody's place.
    write_gguf(tmp_path / "m.gguf")
    with (tmp_path / "m.gguf").open("ab") as file:
        file.write(b"another")
    convert.converted(tmp_path / "m.gguf", tmp_path)
    assert old.exists()

    with (there / "m.gguf").open("ab") as file:
        file.write(b"a third")
    new = convert.converted(there / "m.gguf", tmp_path)
    assert {*old.parent.iterdir()} == {new, *others}


@pytest.mark.usefixtures("no_tokenizer")
def test_what_cannot_be_used_is_refused_in_one_sentence(tmp_path: Path):
    write_gguf(tmp_path / "other.gguf", "bert")
    with pytest.raises(EngineError, match="family bert, and the engine runs qwen2, qwen3, llama"):
        convert.converted(tmp_path / "other.gguf", tmp_path)
    (tmp_path / "weights.safetensors").write_bytes(b"broken")
    with pytest.raises(EngineError, match="name the folder of a converted model"):
        Weights.load(tmp_path, torch.float32)


def write_adapter(path: Path, base: str) -> dict[str, torch.Tensor]:
    tensors = {"mask_embedding": torch.randn(32)}
    for i in range(2):
        for name, (into, outs) in projections(SHAPE).items():
            tensors[f"layers.{i}.{name}.a"] = torch.randn(len(outs) * 3, into)
            tensors[f"layers.{i}.{name}.b"] = torch.randn(sum(outs), 3)
    save_file(tensors, path, metadata={"base": base})
    return tensors


def test_an_adapter_updates_each_fused_part_by_itself(tmp_path: Path):
    tensors = write_adapter(tmp_path / "a.safetensors", "m.gguf")
    low = Adapter.load(tmp_path / "a.safetensors", "m.gguf", SHAPE, torch.float32).layers[1]["qkv"]
    a, b = tensors["layers.1.qkv.a"], tensors["layers.1.qkv.b"]
    x = torch.randn(5, 32)
    parts = [x @ a[3 * j : 3 * j + 3].T @ b[rows].T for j, rows in enumerate((slice(32), slice(32, 48), slice(48, 64)))]
    torch.testing.assert_close(x @ low.a.T @ low.b.T, torch.cat(parts, 1))


def test_an_adapter_of_another_base_is_refused(tmp_path: Path):
    write_adapter(tmp_path / "a.safetensors", "m.gguf")
    with pytest.raises(EngineError, match=r"belongs to m\.gguf"):
        Adapter.load(tmp_path / "a.safetensors", "other.gguf", SHAPE, torch.float32)
    (tmp_path / "a.safetensors").write_bytes(b"broken")
    with pytest.raises(EngineError, match="install dlsp again"):
        Adapter.load(tmp_path / "a.safetensors", "m.gguf", SHAPE, torch.float32)
