from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dlsp.stub_engine import StubEngine


@pytest.fixture
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty state folder, the one that dlsp and its subprocesses use."""
    folder = tmp_path / "state"
    folder.mkdir()
    monkeypatch.setenv("DLSP_STATE_DIR", str(folder))
    return folder


@pytest.fixture
def stub(state_folder: Path) -> Iterator[StubEngine]:
    """A stub engine that dlsp finds running."""
    with StubEngine(state_folder) as engine:
        yield engine
