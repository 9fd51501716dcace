"""Folders in which somebody else could put something, and files that others could read or change."""

import asyncio
import logging
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dlsp import paths
from dlsp.engine import state
from dlsp.errors import UserError
from tests.dlsp.editor import Editor

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a user's profile is closed to others there")
OTHER_USER = 65534
as_two_users = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs another user's folder")

FOLDERS: dict[str, tuple[str, str, Callable[[], Path]]] = {  # the variable, the folder below it, how it is asked for
    "state": ("DLSP_STATE_DIR", ".", paths.state_dir),
    "cache": ("DLSP_CACHE_DIR", ".", paths.cache_dir),
    "index": ("DLSP_CACHE_DIR", "index", paths.index_dir),
    "prompts": ("DLSP_CACHE_DIR", "prompts", paths.prompts_dir),
}


@pytest.fixture(params=FOLDERS)
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Callable]:
    """A folder that does not exist yet, and how dlsp asks for it."""
    variable, below, ask = FOLDERS[request.param]
    (tmp_path / "set").mkdir(mode=0o700)
    monkeypatch.setenv(variable, str(top := tmp_path / "set" / "dlsp"))
    if below != ".":
        top.mkdir(mode=0o700)
    return top / below, ask


@as_two_users
@pytest.mark.parametrize("mode", [0o777, 0o700, 0o755])
def test_a_folder_of_another_user_is_refused(made: tuple[Path, Callable[[], Path]], mode: int) -> None:
    folder, ask = made
    folder.mkdir()
    folder.chmod(mode)
    os.chown(folder, OTHER_USER, OTHER_USER)
    with pytest.raises(UserError, match=r"belongs to another user: set DLSP_\w+ to a folder of yours\.$"):
        ask()


def test_a_link_is_refused(made: tuple[Path, Callable[[], Path]], tmp_path: Path) -> None:
    folder, ask = made
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match=r"is a link: set DLSP_\w+ to the folder that is meant\.$"):
        ask()


def test_one_of_ours_that_others_could_write_to_is_closed(
    made: tuple[Path, Callable[[], Path]], caplog: pytest.LogCaptureFixture
) -> None:
    folder, ask = made
    folder.mkdir()
    folder.chmod(0o777)
    assert ask() == folder
    assert stat.S_IMODE(folder.stat().st_mode) == (0o755 if ask == paths.cache_dir else 0o700)
    assert [(record.levelno, str(folder) in record.getMessage()) for record in caplog.records] == [
        (logging.WARNING, True)
    ]
    caplog.clear()
    assert ask() == folder
    assert not caplog.records


@as_two_users
def test_nobody_reads_what_another_user_wrote_about_an_engine(state_folder: Path) -> None:
    """As where the folder was open to all until now."""
    file = state_folder / "engine-m.json"
    written = (
        '{"address": "unix:/e", "token": "t", "nonce": "n", "pid": 1, "model": "m", "version": "1", "started": 1.0}'
    )
    file.write_text(written)
    assert state.read("m") is not None
    os.chown(file, OTHER_USER, OTHER_USER)
    assert state.read("m") is None
    file.unlink()
    (state_folder / "his").write_text(written)
    file.symlink_to(state_folder / "his")
    assert state.read("m") is None
    file.unlink()
    os.mkfifo(file)
    assert state.read("m") is None, "nor does it wait for somebody to write"


def open_to_others(folder: Path) -> list[str]:
    return [
        f"{stat.S_IMODE(each.lstat().st_mode):o} {each.relative_to(folder)}"
        for each in (folder, *folder.rglob("*"))
        if each.lstat().st_mode & 0o077 and not each.is_symlink()
    ]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without anything of dlsp's, and a project in it."""
    for variable in ("DLSP_STATE_DIR", "DLSP_CACHE_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (project := tmp_path / "project").mkdir()
    (project / "sums.py").write_text("def add(a, b):\n    return a + b\n")
    monkeypatch.chdir(project)
    return tmp_path


def ours(home: Path) -> list[Path]:
    return [each for each in (paths.state_dir(), paths.cache_dir()) if each.exists()]


@pytest.mark.parametrize("command", [["context", "sums.py:2:12"], ["status"], ["engine", "status"]])
def test_what_a_command_makes_is_the_users_alone(home: Path, command: list[str]) -> None:
    os.umask(0)
    subprocess.run([sys.executable, "-m", "dlsp", *command], capture_output=True, check=False)
    assert paths.state_dir().exists()
    assert [open_to_others(each) for each in ours(home)] == [[]] * len(ours(home))


async def test_what_the_server_and_the_index_make_is_the_users_alone(home: Path) -> None:
    os.umask(0)
    uri = (home / "project" / "sums.py").as_uri()
    async with Editor(folders=[home / "project"]) as editor:
        editor.open(uri, "import sums\n\nsums.add\n")
        await editor.suggestion(uri, 2, 8)
        async with asyncio.timeout(30):
            while not list(paths.cache_dir().rglob("*.sqlite")):
                await asyncio.sleep(0.05)
    made = {each.suffix for folder in ours(home) for each in folder.rglob("*")}
    assert {".log", ".sqlite"} <= made
    assert [open_to_others(each) for each in ours(home)] == [[]] * len(ours(home))


def test_a_file_of_the_users_keeps_its_mode(tmp_path: Path) -> None:
    from dlsp import atomic

    (file := tmp_path / "script.sh").write_text("old")
    file.chmod(0o755)
    os.umask(0o077)
    atomic.write(file, b"new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o755
