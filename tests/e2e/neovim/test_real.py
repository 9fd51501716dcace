"""The real thing from the key to the buffer: Neovim, the server, the engine and the model."""

import ast
import os
import signal
import time
from pathlib import Path

import pytest

from dlsp.engine import state
from tests.e2e.neovim.neovim import Neovim
from tests.e2e.texts import COUNT, FINE, fines

pytestmark = pytest.mark.model


def at_a_gap(vim: Neovim, folder: Path) -> tuple[str, str]:
    """The cursor in a line of the example project, in insert mode; the text before it and after."""
    before, after = fines()
    vim.open(folder / "fines.py", before + after)
    vim.go(before.count("\n") + 1, len(FINE) - 1)
    vim.keys("a")
    return before, after


def behind(ghost: str, after: str) -> str:
    """What of the text after the cursor stays when the ghost text is accepted: not the `)` if the ghost has it."""
    return after.removeprefix(")") if ghost.count(")") > ghost.count("(") else after


def text(vim: Neovim) -> str:
    return "\n".join(vim.lines()) + "\n"


def test_a_suggestion_is_shown_and_accepted(real: Neovim, folder: Path) -> None:
    before, after = at_a_gap(real, folder)
    ghost = real.insist_on_ghost()
    assert "HIGHEST_FINE" in ghost
    assert FINE + ghost + behind(ghost, after).split("\n")[0] in real.screen()
    assert text(real) == before + after
    real.keys("<Tab>")
    assert text(real) == before + ghost + behind(ghost, after)
    real.keys("<Esc>u")
    assert text(real) == before + after
    assert real.errors() == ""


def test_words_then_a_line(real: Neovim, folder: Path) -> None:
    before, after = at_a_gap(real, folder)
    ghost = real.insist_on_ghost()
    real.keys("<M-Right>")
    left = real.ghost()
    assert left
    assert text(real) == before + ghost.removesuffix(left) + after
    real.keys("<M-C-Right>")
    assert text(real) == before + ghost.split("\n")[0] + behind(ghost, after)


def test_typing_along_and_dismiss(real: Neovim, folder: Path) -> None:
    before, after = at_a_gap(real, folder)
    ghost = real.insist_on_ghost()
    real.type(ghost[:3])
    assert real.ghost() == ghost[3:]
    assert FINE + ghost + behind(ghost, after).split("\n")[0] in real.screen()
    real.keys("<C-]>")
    assert real.ghost() is None
    assert text(real) == before + ghost[:3] + after


def test_a_function_is_filled_in_while_one_looks(real: Neovim, folder: Path) -> None:
    real.open(folder / "count.py", COUNT)
    real.lua(
        """
        Seen = {}
        local partial = require('dlsp.client').partial
        setmetatable(partial, { __newindex = function(t, token, call)
          rawset(t, token, function(value) call(value); table.insert(Seen, #value.committed) end)
        end })
        """
    )
    real.keys("gg<Plug>(dlsp-fill)")
    real.until(lambda: real.lua("return require('dlsp.preview').ready()"), "the function is shown", 60)
    assert text(real) == COUNT
    seen = real.lua("return Seen")
    assert len(seen) > 2
    assert seen == sorted(seen)
    shown = real.screen()
    real.keys("<Tab>")
    filled = text(real)
    head, tail = COUNT.split("    pass\n")
    assert filled.startswith(head)
    assert filled.endswith(tail)
    body = filled.removeprefix(head).removesuffix(tail)
    assert all(line in shown for line in body.splitlines())
    assert body.strip() not in ("", "pass")
    ast.parse(filled)
    real.keys("u")
    assert text(real) == COUNT


def test_an_engine_that_dies_comes_back(
    real: Neovim, folder: Path, engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLSP_STATE_DIR", str(engine))
    before, after = at_a_gap(real, folder)
    real.insist_on_ghost()
    running = state.read("qwen2.5-coder-0.5b")
    assert running
    os.kill(running.pid, signal.SIGKILL)
    real.keys("c")
    # Nobody is waited for: what is typed meanwhile is there.
    real.type("ents")
    assert text(real) == before + "cents" + after

    def answers() -> str | None:
        real.keys("<BS>s")
        time.sleep(3)
        return real.ghost()

    real.until(answers, "there is a suggestion again", 90)
    assert text(real) == before + "cents" + after
    assert real.errors() == ""
