import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dlsp.stub_engine import StubEngine


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing new can take a file's place."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.replace", full)


@pytest.fixture
def stub(state_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StubEngine]:
    """A stub engine that dlsp finds running. The cache folder is empty: by costs measured on this machine `auto` could
    choose a model that the stub does not stand for, and start a real engine.
    """
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))
    with StubEngine(state_folder) as engine:
        yield engine
