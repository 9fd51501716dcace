"""pytest tests/dlsp/models/test_pull.py"""

import errno
import io
import os
import shutil
import signal
from collections import namedtuple
from pathlib import Path

import pytest

from dlsp.models import store
from dlsp.models.catalogue import Model
from dlsp.models.progress import Silent
from dlsp.models.pull import PullError, pull
from dlsp.models.store import ModelMissing


def beside(model: Model, suffix: str) -> Path:
    return store.place(model).with_name(model.file + suffix)


def test_a_model_that_is_here_is_not_fetched(model: Model, data: bytes, publish, fetched: list[int]):
    publish(data)
    assert pull(model) == pull(model) == store.path(model)
    assert fetched == [1, 2]


def test_a_damaged_model_is_replaced(model: Model, data: bytes, publish, fetched: list[int]):
    publish(data)
    store.place(model).parent.mkdir(parents=True)
    store.place(model).write_bytes(data[:-1])
    assert pull(model).read_bytes() == data
    assert store.path(model) == store.place(model)


def test_the_first_of_two_pulls_fetches_the_second_waits(model: Model, data: bytes, publish, start):
    publish(data)
    first = start()
    while "from the model hub" not in first.stdout.readline():
        continue
    first.send_signal(signal.SIGSTOP)  # with the lock
    second = start()
    waits = second.stdout.readline()
    first.send_signal(signal.SIGCONT)
    assert "another process is bringing it, waiting" in waits
    here = f"path {store.place(model)}\n"
    assert first.communicate()[0].endswith(here)
    assert second.communicate()[0] == here
    assert store.verify(model).read_bytes() == data


@pytest.mark.parametrize(("what", "at"), [("downloading", 1_600_000), ("writing", 1_500_000)])
def test_after_a_kill_nothing_half_is_believed_and_it_goes_on(
    model: Model, data: bytes, publish, start, what: str, at: int
):
    first, _ = publish(data)
    output, _ = (killed := start(what, at)).communicate()
    assert killed.returncode == -9, output
    with pytest.raises(ModelMissing, match="not here yet"):
        store.path(model)
    assert beside(model, ".partial").exists() == (what == "writing")
    first.unlink()  # it was fetched before the kill
    assert pull(model).read_bytes() == data
    assert not beside(model, ".partial").exists()
    assert not beside(model, ".parts").exists()


def test_what_a_killed_pull_left_is_used_or_removed(model: Model, data: bytes, publish, fetched: list[int]):
    publish(data)
    beside(model, ".parts").mkdir(parents=True)
    beside(model, ".partial").write_bytes(data)  # killed before it was accepted
    assert pull(model).read_bytes() == data
    assert fetched == []
    beside(model, ".parts").mkdir()
    beside(model, ".partial").write_bytes(data[:-1])  # killed by somebody, while another pull brought the file
    pull(model)
    assert [each.suffix for each in store.place(model).parent.iterdir() if each.suffix in (".partial", ".parts")] == []


def test_ctrl_c_keeps_the_parts(model: Model, data: bytes, publish):
    class Stop(Silent):
        def at(self, what: str, done: int, total: int) -> None:
            if done > 1_600_000:  # in part 2
                raise KeyboardInterrupt

    first, _ = publish(data)
    with pytest.raises(KeyboardInterrupt):
        pull(model, progress=Stop())
    first.unlink()
    assert pull(model).read_bytes() == data


def test_without_a_network_it_says_what_to_do(model: Model):
    sentence = r"the model hub cannot be reached.*the package index failed.*check the network.*--from FILE"
    with pytest.raises(PullError, match=sentence):
        pull(model)
    with pytest.raises(ModelMissing):
        store.path(model)


def test_a_cache_that_cannot_be_written_is_said(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(PullError, match=r"cannot be written \(Not a directory\).*set DLSP_CACHE_DIR"):
        pull(model)


def test_too_little_room_is_seen_before_anything_is_fetched(model: Model, monkeypatch: pytest.MonkeyPatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(0, 0, 2 * model.size - 1))
    with pytest.raises(PullError, match="is full: make room"):
        pull(model)


def test_a_disk_that_fills_up_midway_leaves_no_file(
    model: Model, data: bytes, publish, fetched: list[int], monkeypatch: pytest.MonkeyPatch
):
    class Full(io.FileIO):
        def write(self, data: bytes, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
            if self.tell() > 1_000_000:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(data)

    publish(data)
    opened = Path.open
    with monkeypatch.context() as full:
        full.setattr(Path, "open", lambda file, mode="r": (Full if mode == "xb" else opened)(file, mode))
        with pytest.raises(PullError, match=r"is full: make room .* set DLSP_CACHE_DIR"):
            pull(model)
    assert not beside(model, ".partial").exists()
    with pytest.raises(ModelMissing):
        store.path(model)
    assert pull(model).read_bytes() == data
