from pathlib import Path

import pytest


@pytest.fixture
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty state folder, the one that dlsp and its subprocesses use."""
    folder = tmp_path / "state"
    folder.mkdir()
    monkeypatch.setenv("DLSP_STATE_DIR", str(folder))
    return folder
