"""A machine without the server: it says what to do, and finds it in the folder's virtual environment."""

import json
import sys
from pathlib import Path

import pytest

from dlsp.models import added
from dlsp.models.catalogue import NO_MIRROR, Model
from tests.dlsp.stub_engine import StubEngine
from tests.e2e.texts import LIGHT
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.look import TEXTS
from tests.e2e.vscode.provide import Editor
from tests.e2e.vscode.settings import RESTART, View

BUTTONS = ".notification-list-item-buttons-container .monaco-button"
STEPS = ".getting-started-step .step-title"


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
        install = 'pipx install "dlsp[local]"'
        said = f"dlsp is not installed: run {install}, or say where it is in the setting dlsp.command."
        assert [each.replace("`", "") for each in code.notifications()] == [said]
        code.until(lambda: code.status()[0] == "error", "the status bar says so too")
        code.screenshot("missing")
        # No command is put into a terminal, which would be open in the user's own project.
        assert code.browser.evaluate(TEXTS, BUTTONS) == ["How to Install"]
        code.browser.do(lambda page: page.click(BUTTONS))
        code.until(lambda: "Install the server" in code.browser.evaluate(TEXTS, STEPS), "the first steps are shown")
        code.screenshot("walkthrough")
        code.clear_notifications()
        code.press("Control+Alt+F1")
        (project / ".venv/bin").mkdir(parents=True)
        (project / ".venv/bin/dlsp").symlink_to(own / "dlsp")
        code.press(RESTART)
        code.until(lambda: code.status()[0] == "sparkle", "it is ready")
        code.type("return ")
        code.wait_for_ghost()


def test_an_installation_without_an_engine_names_the_command(programs: tuple[Editor, Path], tmp_path: Path) -> None:
    project, state, light = tmp_path / "project", tmp_path / "state", tmp_path / "dlsp"
    project.mkdir()
    state.mkdir(mode=0o700)
    light.write_text(f"#!{sys.executable}\n{LIGHT}")
    light.chmod(0o755)
    view = View(settings={"dlsp.command": str(light)})
    with Code(*programs, tmp_path / "own", project, state, view=view) as code:
        code.open("")
        code.type("x = ")
        code.until(lambda: code.notifications(), "it is said")
        (said,) = code.notifications()
        assert "This installation has no engine: run" in said
        assert '"dlsp[local]"' in said
        assert code.browser.evaluate(TEXTS, BUTTONS) == ["Put It in a Terminal", "Show Log"]
        code.until(lambda: code.status()[0] == "error", "the status bar says so too")
        code.screenshot("light")


def test_the_model_is_chosen_of_those_that_there_are(
    programs: tuple[Editor, Path], stub: StubEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An added one is in the list. What is chosen becomes the user's setting."""
    project, own, weights = tmp_path / "project", tmp_path / "own", tmp_path / "mine.gguf"
    project.mkdir()
    weights.write_bytes(b"weights")
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))
    added.keep(Model("mine", weights.name, 7, "0" * 64, "", NO_MIRROR, "", 8.4, 600_000_000, weights, "llama"))
    with Code(*programs, own, project, stub.file.parent) as code:
        code.open("")
        code.command("dlsp: Choose the Model")
        offered = ["0.5b", "1.5b", "mine", "auto", "as the project says"]
        code.until(lambda: [each for each in code.picks() if each in offered] == offered, "the models are listed")
        code.screenshot("models")
        code.press("ArrowDown", "ArrowDown", "Enter")
        settings = own / "user" / "User" / "settings.json"
        code.until(lambda: json.loads(settings.read_text()).get("dlsp.model") == "mine", "it is set")
