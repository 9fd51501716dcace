import json
import os
import stat
import sys
from pathlib import Path

import pytest

from dlsp.engine import processes
from dlsp_engine.errors import EngineError
from dlsp_engine.serve import statefile
from dlsp_engine.serve.statefile import StateFile, lock

STATE = {"model": "m", "nonce": "n", "token": "t"}


def test_only_one_engine_has_the_lock(tmp_path: Path):
    with lock(tmp_path / "new", "m"), pytest.raises(EngineError, match="runs already"):
        lock(tmp_path / "new", "m")
    lock(tmp_path / "new", "m").release()


def test_clients_know_the_process_by_its_birth():
    """Client and engine find it each by themselves."""
    assert statefile.birth() == processes.birth(os.getpid()) != ""


def test_written_for_its_owner_only(tmp_path: Path):
    with lock(tmp_path, "m"):
        file = StateFile(tmp_path, STATE)
        file.write()
        assert json.loads(file.path.read_text()) == STATE
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
        assert sorted(each.name for each in tmp_path.iterdir()) == ["engine-m.json", "engine-m.lock"]
        file.remove()
        assert not file.path.exists()


def test_a_folder_that_takes_no_file_is_one_sentence(tmp_path: Path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(EngineError, match=r"cannot be written \(.+\): free some space, or set DLSP_STATE_DIR"):
        lock(tmp_path / "taken", "m")
    file = StateFile(tmp_path / "gone", STATE)
    with pytest.raises(EngineError, match=r"cannot be written \(No such file or directory\)"):
        file.write()


@pytest.mark.parametrize("spoilt", [None, "", "{", '{"nonce": "another"}', "\udcff"])
def test_a_lost_or_spoilt_file_is_put_right(tmp_path: Path, spoilt: str | None):
    with lock(tmp_path, "m"):
        file = StateFile(tmp_path, STATE)
        if spoilt is not None:
            file.path.write_text(spoilt, errors="surrogateescape")
        assert file.keep()
        assert json.loads(file.path.read_text()) == STATE


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be removed there")
def test_without_its_lock_an_engine_ends_and_leaves_the_other_ones_file(tmp_path: Path):
    with lock(tmp_path, "m"):
        file = StateFile(tmp_path, STATE)
        file.write()
        (tmp_path / "engine-m.lock").unlink()
        assert not file.keep()
        with lock(tmp_path, "m"):
            other = StateFile(tmp_path, STATE | {"nonce": "another"})
            other.write()
            assert not file.keep()
            file.remove()
            assert json.loads(other.path.read_text())["nonce"] == "another"


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with lock(tmp_path, "m"):
        file = StateFile(tmp_path, STATE)

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", full)
        with pytest.raises(EngineError, match=r"No space left on device.*DLSP_STATE_DIR"):
            file.write()
        assert file.keep(), "there may be room again later"
        assert not list(tmp_path.glob("*.partial"))
        monkeypatch.undo()
        assert file.keep()
        assert file.path.exists()


def test_a_file_that_is_being_read_is_replaced_a_moment_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As on Windows."""
    tries = []
    replace = os.replace

    def busy(source: Path, target: Path) -> None:
        tries.append(source)
        if len(tries) < 3:
            raise PermissionError(13, "in use")
        replace(source, target)

    monkeypatch.setattr(os, "replace", busy)
    monkeypatch.setattr(statefile, "REPLACE_S", 0)
    with lock(tmp_path, "m"):
        file = StateFile(tmp_path, STATE)
        file.write()
    assert len(tries) == 3
    assert file.path.exists()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs another user's folder")
def test_a_folder_of_another_user_is_refused(tmp_path: Path):
    (tmp_path / "his").mkdir()
    os.chown(tmp_path / "his", 65534, 65534)
    with pytest.raises(EngineError, match=r"belongs to another user: set DLSP_STATE_DIR to one of yours\.$"):
        lock(tmp_path / "his", "m")
    assert list((tmp_path / "his").iterdir()) == []
