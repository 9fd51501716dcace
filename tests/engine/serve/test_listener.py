"""Where an engine listens."""

import os
import socket
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from dlsp_engine.errors import EngineError
from dlsp_engine.serve.listener import MAX_PATH_BYTES, Listener

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it listens on a port there")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a short path, which programs take for the one of temporary files."""
    folder = Path(tempfile.mkdtemp(prefix="d", dir="/tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return folder


def far(folder: Path) -> Path:
    """A state folder in which no socket can be: its path is too long."""
    long = folder / ("x" * 60) / ("y" * 60)
    long.mkdir(parents=True)
    return long


def path_of(listener: Listener) -> Path:
    return Path(listener.address.removeprefix("unix:"))


def test_in_the_state_folder_for_its_owner_only_and_gone_at_the_end(short: Path) -> None:
    with Listener.open(short, "m") as listener:
        assert path_of(listener) == short / "engine-m.sock"
        assert stat.S_IMODE(path_of(listener).stat().st_mode) == 0o600
        assert listener.reachable()
    assert list(short.iterdir()) == []


def test_a_socket_that_a_killed_engine_left_is_replaced(short: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(short / "engine-m.sock"))
    left.close()
    with Listener.open(short, "m") as listener, socket.socket(socket.AF_UNIX) as client:
        listener.socket.listen()
        client.connect(str(path_of(listener)))


def test_the_socket_of_another_engine_is_left_alone(short: Path) -> None:
    with Listener.open(short, "m") as old:
        with Listener.open(short, "m") as new:
            assert new.reachable()
            assert not old.reachable()
            old.__exit__()
            assert new.reachable()
        assert not new.reachable()


@pytest.mark.parametrize("runtime", [True, False])
def test_where_the_path_is_too_long_another_private_folder_is_taken(
    short: Path, monkeypatch: pytest.MonkeyPatch, runtime: bool
) -> None:
    if runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(short))
    state = far(short)
    with Listener.open(state, "m") as listener, Listener.open(state, "other") as other:
        folder = short / ("dlsp" if runtime else f"dlsp-{os.geteuid()}")
        assert path_of(listener).parent == path_of(other).parent == folder
        assert listener.address != other.address
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert len(os.fsencode(path_of(listener))) <= MAX_PATH_BYTES
        assert listener.reachable()


@pytest.mark.parametrize("spoilt", ["open", "link", "file"])
def test_a_folder_that_is_not_private_is_not_taken(short: Path, spoilt: str) -> None:
    folder, state = short / f"dlsp-{os.geteuid()}", far(short)
    if spoilt == "open":
        folder.mkdir()
        folder.chmod(0o755)
    elif spoilt == "link":
        (short / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(short / "elsewhere")
    else:
        folder.touch()
    with pytest.raises(EngineError, match=r"no place: .*DLSP_STATE_DIR"):
        Listener.open(state, "m")


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs another user's folder")
def test_a_folder_that_another_user_made_is_not_taken(short: Path) -> None:
    folder, state = short / f"dlsp-{os.geteuid()}", far(short)
    folder.mkdir(mode=0o700)
    os.chown(folder, 65534, 65534)
    with pytest.raises(EngineError, match="no place"):
        Listener.open(state, "m")


def test_a_port_of_this_machine_alone(tmp_path: Path) -> None:
    with Listener.open(tmp_path, "m", tcp=True) as listener:
        host, port = listener.socket.getsockname()
        assert (host, listener.address) == ("127.0.0.1", f"http://127.0.0.1:{port}")
        assert listener.reachable()
        assert listener.socket.proto == socket.IPPROTO_TCP, "else asyncio waits with small pieces, for 40 ms each"
    assert list(tmp_path.iterdir()) == []
