"""Converted weights, tokenizer and int8 weights with changed bytes: made anew or refused, never believed."""

import json
import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from dlsp_engine.errors import EngineError
from dlsp_engine.model import convert, int8_file, manifest
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.weights import Weights
from dlsp_kernels.int8_linear.kinds import best
from tests.engine import gguf_file

HEADER = 8  # bytes of a safetensors file that say how long its header is


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """Makes and loads all converted files of a tiny model as an engine's start does, and returns their folder."""
    text = json.dumps({"vocabulary": {f"word{i}": i for i in range(300)}})
    tokenizer = SimpleNamespace(save=lambda path: Path(path).write_text(text))
    monkeypatch.setattr(convert, "tokenizer_from_gguf", lambda *_: tokenizer)
    gguf_file.write(tmp_path / "m.gguf", 2, 32, 48, 70)

    def make() -> Path:
        folder = convert.converted(tmp_path / "m.gguf", tmp_path, lambda line: None)
        weights = Weights.load(folder, torch.bfloat16)
        if kind := best():
            adapter = Adapter.random(weights.architecture)
            int8_file.stored(folder, weights, adapter, kind, lambda line: None)
        return folder

    return make


def contents(folder: Path) -> dict[str, object]:
    """What the files hold, but for lock and manifests. The library writes its metadata in any order."""
    found: dict[str, object] = {}
    for each in folder.iterdir():
        if each.suffix == ".json":
            found[each.name] = each.read_text()
        elif each.suffix == ".safetensors":
            with safe_open(each, "pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                found[each.name] = (
                    file.metadata(),
                    {
                        name: (one.dtype, one.shape, one.contiguous().view(torch.uint8).numpy().tobytes())
                        for name, one in tensors.items()
                    },
                )
    return found


def change(file: Path, place: int, flip: int) -> None:
    """One byte in place, with the times set back as a copy or a backup does."""
    before = file.stat()
    with file.open("r+b") as opened:
        opened.seek(place)
        byte = opened.read(1)[0]
        opened.seek(place)
        opened.write(bytes([byte ^ flip]))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("name", ["weights.safetensors", "tokenizer.json", "int8-*.safetensors", "*.manifest"])
@pytest.mark.parametrize("places", [15, pytest.param(100, marks=pytest.mark.prove)])
def test_one_changed_byte_changes_no_answer(made: Callable[[], Path], name: str, places: int):
    folder = made()
    right, rng = contents(folder), random.Random(7)
    files = sorted(folder.glob(name))
    if not files:
        pytest.skip("no int8 matmul here")
    for _ in range(places):
        file = rng.choice(files)
        size = file.stat().st_size
        place = rng.randrange(min(size, 4000) if rng.random() < 0.5 else size)  # half of them in the header
        change(file, place, rng.randrange(1, 256))
        made()
        assert contents(folder) == right, f"byte {place} of {file.name}"


def test_each_field_of_a_header_is_checked(made: Callable[[], Path]):
    folder = made()
    right = contents(folder)
    for file in folder.glob("*.safetensors"):
        before = file.read_bytes()
        length = int.from_bytes(before[:HEADER], "little")
        header = json.loads(before[HEADER : HEADER + length])
        tensor = next(each for each in header if each != "__metadata__")
        for field, value in (("dtype", "I8"), ("shape", [1, 2]), ("data_offsets", [0, 8])):
            wrong = json.dumps(header | {tensor: header[tensor] | {field: value}}).encode()[:length].ljust(length)
            file.write_bytes(before[:HEADER] + wrong + before[HEADER + length :])
            made()
            assert contents(folder) == right


def test_a_file_is_hashed_again_only_when_it_was_changed(made: Callable[[], Path], monkeypatch: pytest.MonkeyPatch):
    folder = made()
    hashed: list[object] = []
    real = manifest._sha256
    monkeypatch.setattr(manifest, "_sha256", lambda file: hashed.append(file) or real(file))
    monkeypatch.setattr(manifest, "SETTLED_NS", 0)
    made()
    assert not hashed
    # A copy of the folder is another file, until it was hashed once.
    shutil.copytree(folder, copy := folder.with_name("copy"), copy_function=shutil.copy2)
    assert all(manifest.whole(copy / name) for name in contents(copy))
    assert len(hashed) == len(contents(copy))
    assert all(manifest.whole(copy / name) for name in contents(copy))
    assert len(hashed) == len(contents(copy))
    assert all(manifest.whole(copy / name, thorough=True) for name in contents(copy))
    assert len(hashed) == 2 * len(contents(copy))


def test_a_change_in_the_same_tick_of_the_clock_is_found(made: Callable[[], Path]):
    """Such a change leaves all times as they were."""
    file = made() / "tokenizer.json"
    assert manifest.whole(file)
    right = json.loads(manifest.path_of(file).read_text())
    change(file, 5, 1)
    manifest.path_of(file).write_text(json.dumps(right | {"stamp": manifest._stamp(file.stat())}))
    assert not manifest.whole(file)


def test_what_was_hashed_long_after_its_last_change_is_believed(made: Callable[[], Path], monkeypatch):
    file = made() / "tokenizer.json"
    monkeypatch.setattr(manifest, "SETTLED_NS", 20_000_000)
    time.sleep(0.05)
    assert manifest.whole(file)
    monkeypatch.setattr(manifest, "_sha256", lambda file: pytest.fail("it was hashed already"))
    assert manifest.whole(file)


def test_files_are_for_this_user_only(made: Callable[[], Path]):
    os.umask(0)
    folder = made()
    assert {each.stat().st_mode & 0o077 for each in (folder, *folder.iterdir()) if each.name != "lock"} == {0}
    (folder / "weights.safetensors").chmod(0o666)
    assert not manifest.whole(folder / "weights.safetensors"), "anybody could have written it"


def test_a_link_is_not_followed(made: Callable[[], Path], tmp_path: Path):
    file = made() / "tokenizer.json"
    file.rename(tmp_path / "elsewhere.json")
    file.symlink_to(tmp_path / "elsewhere.json")
    assert not manifest.whole(file)


def test_what_a_killed_conversion_left_is_removed(made: Callable[[], Path]):
    folder = made()
    left = [folder / "weights.partial", folder / "int8-0123.partial", folder / "tokenizer.json.1.manifest.partial"]
    for each in left:
        each.write_bytes(b"half")
    with convert.FileLock(folder / manifest.LOCK):
        manifest.sweep(folder)
    assert all(each.exists() for each in left), "somebody is at work on them"
    made()
    assert not any(each.exists() for each in left)


def test_what_is_whole_needs_no_folder_that_can_be_written(made: Callable[[], Path], monkeypatch: pytest.MonkeyPatch):
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    folder = made()
    (folder / "weights.partial").write_bytes(b"half")
    monkeypatch.setattr(manifest, "_write", refused)
    monkeypatch.setattr(manifest, "FileLock", refused)
    assert made() == folder


def test_tensors_of_other_sizes_are_refused_in_one_sentence(made: Callable[[], Path]):
    """Although their manifest is right: as from a file of another version."""
    file = made() / "weights.safetensors"
    with safe_open(file, "pt") as opened:
        tensors, metadata = {name: opened.get_tensor(name) for name in opened.keys()}, opened.metadata()  # noqa: SIM118
    for name, tensor in tensors.items():
        save_file(tensors | {name: tensor[1:].clone()}, partial := file.with_suffix(".partial"), metadata)
        manifest.publish(partial, file)
        with pytest.raises(EngineError, match="missing or damaged"):
            Weights.load(file.parent, torch.bfloat16)


@pytest.mark.model
@pytest.mark.prove
@pytest.mark.timeout(3600)  # copies 1.5 GB and hashes each file a hundred times
def test_one_changed_byte_of_the_real_files_is_found(gguf: Path, tmp_path: Path):
    from dlsp import paths
    from dlsp_engine import Engine
    from dlsp_engine.engine import ADAPTERS
    from dlsp_engine.model.update import Update

    Engine.load(gguf, paths.cache_dir())
    folder = convert.converted(gguf, paths.cache_dir(), update=Update.beside(ADAPTERS, gguf))
    rng = random.Random(7)
    for file in sorted({*folder.glob("*.safetensors"), *folder.glob("*.json")}):
        for each in (file, manifest.path_of(file)):
            shutil.copy2(each, tmp_path)
        copy = tmp_path / file.name
        assert manifest.whole(copy)
        for _ in range(100):
            place, flip = rng.randrange(copy.stat().st_size), rng.randrange(1, 256)
            change(copy, place, flip)
            assert not manifest.whole(copy), f"byte {place} of {file.name}"
            change(copy, place, flip)
        assert manifest.whole(copy)
        copy.unlink()
