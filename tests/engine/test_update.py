"""The infill update: added to the weights of the very file it was trained for, and drafted for by adapters that fit."""

import json
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from filelock import FileLock
from safetensors.torch import save_file

from dlsp_engine.decode.budget import Costs
from dlsp_engine.engine import Engine
from dlsp_engine.errors import EngineError
from dlsp_engine.model import convert, manifest
from dlsp_engine.model.adapter import projections
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.hashes import content
from dlsp_engine.model.source import Description
from dlsp_engine.model.update import Update, mismatch
from dlsp_engine.model.update import sha256 as file_sha256
from dlsp_engine.model.weights import Weights
from dlsp_engine.text.tokenizer import ByteTokenizer
from dlsp_engine.train import pair
from tests.engine import gguf_file

SHAPE = Architecture(layers=2, dim=32, heads=4, kv_heads=2, head_dim=8, ff=48, vocab=70, theta=1e6, eps=1e-6)
RANK = 3


@pytest.fixture(autouse=True)
def no_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    made = SimpleNamespace(save=lambda path: Path(path).write_text("{}"))
    monkeypatch.setattr(convert, "tokenizer_from_gguf", lambda *_: made)


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "models" / "m.gguf"
    path.parent.mkdir()
    gguf_file.write(path, SHAPE.layers, SHAPE.dim, SHAPE.ff, SHAPE.vocab)
    return path


def write_update(gguf: Path, seed: int = 0, **metadata: str) -> dict[str, torch.Tensor]:
    """An update of random numbers beside `gguf`."""
    torch.manual_seed(seed)
    tensors = {}
    for i in range(SHAPE.layers):
        for name, (into, outs) in projections(SHAPE).items():
            tensors[f"layers.{i}.{name}.a"] = torch.randn(len(outs) * RANK, into)
            tensors[f"layers.{i}.{name}.b"] = torch.randn(sum(outs), RANK)
    base = {"base": gguf.name, "base_sha256": sha256(gguf.read_bytes()).hexdigest(), "version": f"u{seed}"}
    save_file(tensors, gguf.with_name("m.infill-update.safetensors"), metadata=base | metadata)
    return tensors


def update_of(gguf: Path) -> Update:
    update = Update.beside(gguf.parent, gguf)
    assert update
    return update


def update_in(folder: Path) -> str:
    return Description.load(folder / convert.ABOUT).update


def convert_in(cache: Path, gguf: Path, update: Update | None) -> tuple[Path, list[str]]:
    said: list[str] = []
    return convert.converted(gguf, cache, said.append, update), said


def test_each_part_of_a_fused_projection_gets_its_own_update(tmp_path: Path, gguf: Path) -> None:
    plain = Weights.load(convert_in(tmp_path, gguf, None)[0], torch.float32)
    tensors = write_update(gguf)
    changed = Weights.load(convert_in(tmp_path, gguf, update_of(gguf))[0], torch.float32)
    parts = {"qkv": (32, 16, 16), "out": (32,), "gate_up": (48, 48), "down": (32,)}
    for i, (before, after) in enumerate(zip(plain.layers, changed.layers, strict=True)):
        for name, outs in parts.items():
            a, b = (tensors[f"layers.{i}.{name}.{part}"] for part in "ab")
            low = [b_part @ a_part for a_part, b_part in zip(a.split(RANK), b.split(outs), strict=True)]
            wanted = getattr(before, name) + torch.cat(low)
            torch.testing.assert_close(getattr(after, name), wanted, rtol=2**-8, atol=1e-6)
        assert torch.equal(before.qkv_bias, after.qkv_bias)
        assert torch.equal(before.mlp_norm, after.mlp_norm)
    assert torch.equal(plain.embedding, changed.embedding)


def test_switching_or_replacing_an_update_converts_anew_and_deletes_what_was_there(tmp_path: Path, gguf: Path) -> None:
    write_update(gguf)
    first = update_of(gguf)
    folders = [convert_in(tmp_path, gguf, first)[0]]
    assert update_in(folders[0]) == first.sha256
    assert convert_in(tmp_path, gguf, first) == (folders[0], []), "the second start converts nothing"
    write_update(gguf, seed=1)
    second = update_of(gguf)
    for update in (second, None, second):
        folder, said = convert_in(tmp_path, gguf, update)
        assert said
        assert folder != folders[-1]
        assert list(folder.parent.iterdir()) == [folder]
        assert update_in(folder) == (update.sha256 if update else "")
        folders.append(folder)


def test_a_conversion_that_another_engine_is_at_work_on_stays(tmp_path: Path, gguf: Path) -> None:
    write_update(gguf)
    others, _ = convert_in(tmp_path, gguf, update_of(gguf))
    with FileLock(others / manifest.LOCK):
        (others / "int8-1.partial").write_bytes(b"half")
        plain, _ = convert_in(tmp_path, gguf, None)
        assert (others / "int8-1.partial").exists()
    write_update(gguf, seed=1)
    last, _ = convert_in(tmp_path, gguf, update_of(gguf))
    assert list(last.parent.iterdir()) == [last], "nobody is at work there any more"
    assert plain != last


def test_an_update_leaves_alone_what_was_made_of_other_models_and_by_other_versions(tmp_path: Path, gguf: Path) -> None:
    plain, _ = convert_in(tmp_path, gguf, None)
    others = [plain.with_name(name) for name in ("other-1-2-1", "m-it-1-2-1-u0123456789ab", f"{plain.name[:-1]}0")]
    for each in others:
        each.mkdir()
    write_update(gguf)
    folder, _ = convert_in(tmp_path, gguf, update_of(gguf))
    assert {*folder.parent.iterdir()} == {folder, *others}


def test_another_file_of_the_same_name_is_not_updated(tmp_path: Path, gguf: Path) -> None:
    write_update(gguf)
    values = gguf_file.write(gguf, SHAPE.layers, SHAPE.dim, SHAPE.ff, SHAPE.vocab, np.float16)
    folder, said = convert_in(tmp_path, gguf, update_of(gguf))
    assert any("not the file that the infill update was trained for" in line for line in said)
    assert update_in(folder) == ""
    out = torch.from_numpy(values["blk.0.attn_output.weight"]).bfloat16()
    assert torch.equal(Weights.load(folder, torch.bfloat16).layers[0].out, out)


def test_a_damaged_update_is_one_sentence(gguf: Path) -> None:
    gguf.with_name("m.infill-update.safetensors").write_bytes(b"broken")
    with pytest.raises(EngineError, match="install dlsp again"):
        Update.beside(gguf.parent, gguf)
    gguf.with_name("m.infill-update.safetensors").unlink()
    assert Update.beside(gguf.parent, gguf) is None


def write_adapter(path: Path, **metadata: str) -> Path:
    save_file({"mask_embedding": torch.zeros(1)}, path, metadata=metadata)
    return path


def test_an_adapter_drafts_only_for_weights_it_was_made_for(tmp_path: Path, gguf: Path) -> None:
    write_update(gguf)
    update = update_of(gguf)
    of_base = write_adapter(tmp_path / "of-base.safetensors", version="a1")
    of_update = write_adapter(tmp_path / "of-update.safetensors", update_sha256=update.sha256)
    assert mismatch(of_base, None) == ""
    assert mismatch(of_update, update) == ""
    assert "was not made for the base without" in mismatch(of_update, None)
    assert "adapter a1 was not made for the infill update u0" in mismatch(of_base, update)

    write_update(gguf, seed=2, canvas_adapters=json.dumps([sha256(of_base.read_bytes()).hexdigest()]))
    measured = update_of(gguf)
    assert mismatch(of_base, measured) == "", "the update says that it was measured with it"
    assert "was not made for the infill update u2" in mismatch(of_update, measured)

    write_update(gguf, seed=3)
    before = update_of(gguf)
    assert pair.main([str(before.path), str(of_base)]) == 0
    assert mismatch(of_base, update_of(gguf)) == "", "measured, and written down"
    assert update_of(gguf).metadata.items() >= {"version": "u3", "base": "m.gguf"}.items()
    write_adapter(of_base, version="a2")
    assert "was not made for the infill update u2" in mismatch(of_base, measured)


def test_an_adapter_does_not_draft_for_another_file_of_its_base_s_name(tmp_path: Path, gguf: Path) -> None:
    path = write_adapter(tmp_path / "a.safetensors", version="a1", base_sha256=file_sha256(gguf))
    assert mismatch(path, None, content(gguf, tmp_path)) == ""
    gguf_file.write(gguf, SHAPE.layers, SHAPE.dim, SHAPE.ff, SHAPE.vocab, np.float16)
    assert mismatch(path, None, content(gguf, tmp_path)) == "canvas adapter a1 was made for another file of this name"


@pytest.mark.usefixtures("one_thread")
def test_an_engine_says_which_files_of_its_model_s_name_it_leaves_out(
    tmp_path: Path, gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlsp_engine.engine._tokenizer", lambda folder: ByteTokenizer())
    monkeypatch.setattr("dlsp_engine.engine.remembered", lambda *_: Costs())
    write_update(gguf)
    write_adapter(gguf.with_name("m.safetensors"), version="a1", base=gguf.name, base_sha256=file_sha256(gguf))
    gguf_file.write(gguf, SHAPE.layers, SHAPE.dim, SHAPE.ff, SHAPE.vocab, np.float16)
    engine = Engine.load(gguf, tmp_path, "float32", device="cpu", adapters=gguf.parent)
    assert not engine.update
    assert engine.no_update == "infill update u0 was made for another file of this name"
    assert engine.no_canvas == "canvas adapter a1 was made for another file of this name"
    assert not engine.model.adapter.has_updates
