"""Where dlsp keeps what it needs."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dlsp import paths
from dlsp.errors import UserError
from dlsp.ignore import Rules
from dlsp.index.process import is_workspace


@pytest.mark.parametrize(
    ("variable", "folder"), [("DLSP_STATE_DIR", paths.state_dir), ("DLSP_CACHE_DIR", paths.cache_dir)]
)
def test_without_a_home_folder_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, variable: str, folder: Callable[[], Path]
) -> None:
    monkeypatch.setenv(variable, "~nobody-of-this-name/dlsp")
    with pytest.raises(UserError, match="DLSP_STATE_DIR and DLSP_CACHE_DIR"):
        folder()


@pytest.fixture
def no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a user id without a passwd entry in a container that sets no HOME."""

    def none(_: int) -> None:
        raise KeyError

    for variable in ("HOME", "DLSP_CACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", none)


@pytest.mark.usefixtures("no_home")
def test_without_a_home_folder_files_are_still_read(tmp_path: Path) -> None:
    assert paths.home() is None
    with pytest.raises(UserError, match="home folder is not known"):
        paths.cache_dir()
    assert is_workspace(tmp_path)
    assert not is_workspace(Path("/"))
    (tmp_path / ".gitignore").write_text("secret.py\n")
    assert Rules(tmp_path).excludes(tmp_path / "secret.py")
    assert not Rules(tmp_path).excludes(tmp_path / "open.py")


WITHOUT_ENTRY = """
import pwd, sys
from dlsp.cli import main

def none(uid):
    raise KeyError(uid)

pwd.getpwuid = none
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("command", [["status"], ["doctor", "--json"], ["complete", "a.py:1:1"]])
def test_a_user_without_a_passwd_entry_sees_one_sentence(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ENTRY, *command],
        env={"PATH": os.defpath, "PYTHONPATH": ":".join(filter(None, sys.path)), "LANG": "C.UTF-8"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "home folder is not known" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
