"""Neovim, VS Code and OpenAI's library, each as its user has it, against a team's server with the real model."""

import json
import subprocess
from pathlib import Path

import pytest

from dlsp.engine.remote import TOKENS_FILE
from dlsp.models.catalogue import DEFAULT
from tests.e2e.clients.conftest import LIMIT_S, SCRIPTS
from tests.e2e.clients.provide import command
from tests.e2e.neovim.neovim import Neovim
from tests.e2e.neovim.provide import VERSIONS, nvim
from tests.e2e.texts import FINE, fines
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.provide import editor, vsix
from tests.e2e.vscode.settings import View
from tests.team.conftest import TeamServer

ITEM = """() => document.querySelector('.statusbar-item[id*="dlsp"]').textContent"""
pytestmark = [pytest.mark.prove, pytest.mark.model, pytest.mark.timeout(600)]


@pytest.fixture
def state(real_server: TeamServer, tmp_path: Path) -> Path:
    """A state folder with the user's token, and without an engine on this machine."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    file = folder / TOKENS_FILE
    file.touch(0o600)
    file.write_text(f"{real_server.url} {real_server.token}\n")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def of_infills(server: TeamServer) -> int:
    """How many infills were answered."""
    return sum((each["what"], each["status"], each["user"]) == ("infill", 200, "ada") for each in server.audit())


def test_neovim(real_server: TeamServer, state: Path, project: Path, tmp_path: Path) -> None:
    config = (
        f'vim.g.dlsp = {{ settings = {{ suggest = "eager", model = "0.5b", server = "{real_server.url}", '
        'server_away = "quiet" } }'
    )
    before, after = fines()
    asked = of_infills(real_server)
    with Neovim(nvim(VERSIONS[-1]), tmp_path / "own", project / "first.py", state, config) as vim:
        vim.wait_for_server()
        vim.open(project / "fines.py", before + after)
        vim.go(before.count("\n") + 1, len(FINE) - 1)
        vim.keys("a")
        ghost = vim.insist_on_ghost()
        assert "HIGHEST_FINE" in ghost
        vim.keys("<Tab>")
        assert "\n".join(vim.lines()) + "\n" == before + ghost + after
        assert vim.lua("return require('dlsp').statusline()") == f"dlsp → the server {real_server.url[7:]}"
        assert vim.errors() == ""
    assert of_infills(real_server) > asked
    assert not list(state.glob("*.sock")), "no engine was started here"


def test_vscode(real_server: TeamServer, state: Path, project: Path, tmp_path: Path) -> None:
    view = View(settings={"dlsp.server": real_server.url, "dlsp.server_away": "quiet"})
    before, after = fines()
    asked = of_infills(real_server)
    with Code(editor(), vsix(), tmp_path / "own", project, state, view=view) as code:
        code.open("x = 1\n")
        code.until(lambda: code.status()[0] == "sparkle", "the server answers", 120)
        assert f"dlsp → the server {real_server.url[7:]}" in code.browser.evaluate(ITEM)
        code.open(before[:-1] + after, "fines.py")
        code.go(before.count("\n") + 1, len(FINE))
        ghost = ""
        for _ in range(10):  # a busy machine may take too long for one request
            code.insert("(")
            try:
                ghost = code.wait_for_ghost(seconds=10)
                break
            except AssertionError:
                code.press("Backspace")
        assert "HIGHEST_FINE" in ghost
        code.press("Tab")
        assert code.text() == before + ghost + after
    assert of_infills(real_server) > asked


@pytest.mark.parametrize("name", ["openai-2", "openai-3"])
def test_openai(real_server: TeamServer, tmp_path: Path, name: str) -> None:
    program, environment = command(name)
    words = [*program, str(SCRIPTS / "openai_python.py"), real_server.url, str(tmp_path)]

    def run(token: str) -> subprocess.CompletedProcess[str]:
        known = environment | {"DLSP_API_KEY": token}
        return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, env=known, cwd=tmp_path)

    done = run(real_server.token)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["models"] == [DEFAULT.name]
    assert len(told["texts"]) == 2
    assert told["error"] == "n"
    assert "AuthenticationError" in run("dlsp_wrong").stderr
