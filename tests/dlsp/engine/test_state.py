import json
import multiprocessing
import stat
from pathlib import Path

import pytest
from filelock import FileLock

from dlsp import paths
from dlsp.engine import state
from dlsp.errors import UserError

WRITTEN = {
    "address": "unix:/run/e.sock",
    "token": "t",
    "nonce": "n",
    "pid": 1,
    "model": "m",
    "version": "1",
    "started": 0.5,
}


def write(folder: Path, **changes: object) -> None:
    (folder / "engine-m.json").write_text(json.dumps(WRITTEN | changes))


def test_read(state_folder: Path) -> None:
    assert state.read("m") is None
    write(state_folder)
    assert state.read("m") == state.State("unix:/run/e.sock", "t", "n", 1, "m", "1", 0.5)


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("DLSP_STATE_DIR", "~/state")
    monkeypatch.chdir(tmp_path)
    assert paths.state_dir() == tmp_path / "state"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"address": "http://127.0.0.1:1"}', "\xff"])
def test_what_is_not_a_state_is_none(state_folder: Path, text: str) -> None:
    (state_folder / "engine-m.json").write_text(text, encoding="latin-1")
    assert state.read("m") is None


@pytest.mark.parametrize(
    "address",
    [
        *("http://192.0.2.1:80", "http://127.0.0.1.example.org:80", "https://a", "http://127.0.0.1", "127.0.0.1:80"),
        *("unix:", "unix:engine.sock", "unix://host/path\n", "file:/run/e.sock", "/run/e.sock"),
    ],
)
def test_no_address_elsewhere_is_believed(state_folder: Path, address: str) -> None:
    write(state_folder, address=address)
    assert state.read("m") is None


def test_the_folder_is_its_owners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLSP_STATE_DIR", str(tmp_path / "a" / "b"))
    assert stat.S_IMODE(paths.state_dir().stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DLSP_STATE_DIR", str(tmp_path / "file" / "state"))
    with pytest.raises(UserError, match="DLSP_STATE_DIR"):
        paths.state_dir()


def test_alive(state_folder: Path) -> None:
    assert not state.alive("m")
    held, leave = multiprocessing.Event(), multiprocessing.Event()

    def hold() -> None:
        with FileLock(state_folder / "engine-m.lock"):
            held.set()
            leave.wait(10)

    holder = multiprocessing.get_context("fork").Process(target=hold)
    holder.start()
    held.wait(10)
    assert state.alive("m")
    leave.set()
    holder.join()
    assert not state.alive("m")
