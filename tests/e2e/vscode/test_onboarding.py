"""A machine without the server: it says what to do, and finds it in the folder's virtual environment."""

import sys
from pathlib import Path

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.provide import Editor
from tests.e2e.vscode.settings import RESTART


def test_the_one_command_then_a_virtual_environment(
    programs: tuple[Editor, Path], stub: StubEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.reset()
    project, own = tmp_path / "project", Path(sys.executable).parent
    project.mkdir()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with Code(*programs, tmp_path / "own", project, stub.file.parent, bare=True) as code:
        code.open("")
        code.until(lambda: code.notifications(), "it is said")
        said = "dlsp is not installed: run pip install . in its folder, or say where it is in the setting dlsp.command."
        assert [each.replace("`", "") for each in code.notifications()] == [said]
        code.until(lambda: code.status()[0] == "error", "the status bar says so too")
        code.screenshot("missing")
        code.clear_notifications()
        (project / ".venv/bin").mkdir(parents=True)
        (project / ".venv/bin/dlsp").symlink_to(own / "dlsp")
        code.press(RESTART)
        code.until(lambda: code.status()[0] == "sparkle", "it is ready")
        code.type("return ")
        code.wait_for_ghost()
