"""Standard output that takes nothing, or not everything, and interruptions: one sentence, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dlsp import cli


def said(command: str, folder: Path, **environment: str) -> tuple[int, str]:
    """The exit status and standard error of a line for the shell, where `dlsp` is ours."""
    done = subprocess.run(
        ["bash", "-c", f'dlsp() {{ "{sys.executable}" -m dlsp "$@"; }}; {command}'],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"} | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("command", ["model list", "context a.py:1:1", "--version", "--help", "status"])
def test_a_full_disk(command: str, state_folder: Path) -> None:
    (state_folder / "a.py").write_text("x = 1\n")
    status, error = said(f"dlsp {command} > /dev/full", state_folder)
    assert (status, error) == (1, "dlsp: Standard output cannot be written: No space left on device.\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_without_a_buffer(state_folder: Path) -> None:
    status, error = said("dlsp model list > /dev/full", state_folder, PYTHONUNBUFFERED="1")
    assert (status, error) == (1, "dlsp: Standard output cannot be written: No space left on device.\n")


def test_a_closed_output(state_folder: Path) -> None:
    status, error = said("dlsp model list >&-", state_folder)
    assert (status, error) == (1, "dlsp: Standard output is closed: send it to a file or to /dev/null.\n")


def test_an_encoding_that_lacks_characters(state_folder: Path) -> None:
    (state_folder / "a.py").write_text("x = 1\n")
    status, error = said("dlsp context a.py:1:1", state_folder, PYTHONIOENCODING="ascii")
    assert status == 1
    assert error.startswith("dlsp: Standard output is ascii")
    assert error.count("\n") == 1


def test_an_early_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "parser", interrupted)  # as while the commands are imported
    assert cli.main(["status"]) == 130
