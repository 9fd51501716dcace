"""pytest tests/dlsp/models/test_store.py"""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from dlsp import paths
from dlsp.models import store
from dlsp.models.catalogue import Model
from dlsp.models.store import ModelMissing


@pytest.fixture
def file(model: Model, data: bytes) -> Path:
    """The model's file, put in its place by hand."""
    file = store.place(model)
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    return file


def note(file: Path) -> Path:
    return file.with_name(file.name + ".accepted")


def never(*_: object) -> str:
    raise AssertionError("hashed")


def test_the_cache_is_where_the_setting_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "there"))
    assert paths.cache_dir() == tmp_path / "there"
    monkeypatch.delenv("DLSP_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert paths.cache_dir() == tmp_path / "dlsp"


def test_a_missing_model_is_said_with_the_command_that_brings_it(model: Model):
    with pytest.raises(ModelMissing, match=r"run `dlsp model pull 0\.1b`"):
        store.path(model)


def test_an_accepted_file_is_not_hashed_again(model: Model, file: Path, monkeypatch: pytest.MonkeyPatch):
    assert store.path(model) == file
    monkeypatch.setattr(store, "digest", never)
    assert store.path(model) == file


def test_a_changed_file_is_not_believed(model: Model, file: Path, data: bytes):
    store.path(model)
    file.write_bytes(b"?" + data[1:])
    with pytest.raises(ModelMissing, match="damaged or incomplete"):
        store.path(model)
    assert not note(file).exists()


def test_a_truncated_file_is_not_believed_and_not_even_hashed(
    model: Model, file: Path, data: bytes, monkeypatch: pytest.MonkeyPatch
):
    store.path(model)
    os.truncate(file, len(data) - 1)
    monkeypatch.setattr(store, "digest", never)
    with pytest.raises(ModelMissing, match="damaged or incomplete"):
        store.path(model)


def test_a_change_whose_time_was_set_back_is_found(model: Model, file: Path, data: bytes):
    store.path(model)
    before = file.stat()
    while file.stat().st_ctime_ns == before.st_ctime_ns:  # within a tick of the clock two changes have the same time
        file.write_bytes(b"?" + data[1:])
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ModelMissing, match="damaged or incomplete"):
        store.path(model)


def test_a_note_for_another_hash_or_a_torn_note_means_nothing(model: Model, file: Path):
    store.path(model)
    right = note(file).read_text()
    file.write_bytes(bytes(model.size))
    stat = file.stat()
    others = {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": "0" * 64}
    for text in (json.dumps(others), right[:-4], "null", right):
        note(file).write_text(text)
        with pytest.raises(ModelMissing):
            store.path(model)


def test_a_note_without_a_file_means_nothing(model: Model, file: Path):
    store.path(model)
    file.unlink()
    for text in (note(file).read_text(), "null"):
        note(file).write_text(text)
        with pytest.raises(ModelMissing, match="not here yet"):
            store.path(model)


def test_a_cache_that_cannot_be_written_is_still_read(model: Model, file: Path):
    note(file).mkdir()  # so that no note can be written, or read
    assert store.path(model) == store.path(model) == file


def test_windows_flushes_no_folder_and_files_only_through_a_handle_that_writes(
    model: Model, tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch
):
    """Windows refuses to open a folder, and to flush what was opened for reading."""
    candidate = tmp_path / "candidate"
    candidate.write_bytes(data)
    store.place(model).parent.mkdir(parents=True)
    opened, flushed = dict[int, tuple[str, int]](), list[str]()

    def open_(path: Path, flags: int) -> int:
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied")
        opened[handle := real_open(path, flags)] = (str(path), flags)
        return handle

    def fsync(handle: int) -> None:
        path, flags = opened[handle]
        if flags & os.O_RDWR != os.O_RDWR:
            raise OSError(9, "Bad file descriptor")
        flushed.append(path)

    real_open = os.open
    windows = SimpleNamespace(**{name: getattr(os, name) for name in ("close", "strerror", "O_RDONLY", "O_RDWR")})
    windows.name, windows.open, windows.fsync = "nt", open_, fsync
    monkeypatch.setattr("dlsp.models.disk.os", windows)
    assert store.accept(model, candidate).read_bytes() == data
    assert flushed == [str(candidate)]
