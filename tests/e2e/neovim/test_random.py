"""Random actions, with servers and engines killed in between, end in the buffers that a model of them has."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.neovim.neovim import Neovim
from tests.e2e.walk import START
from tests.e2e.walk import Walk as Base

pytestmark = pytest.mark.model

TYPED = ("x", "total = 0", "for each in numbers:\n    ", "é", "f(a, b)", "\n", "# 文字 🙂", "return ", '"', "    if ")
BEGUN = ("", "x", "\nfor each in num", "\nprint(add(1, ")
GHOST_S = 15.0
PATIENCE_S = 90.0
SETTLED_S = 1.0
KEYS = {"all": "<Tab>", "word": "<M-Right>", "line": "<M-C-Right>"}


class Walk(Base):
    """One Neovim and two buffers."""

    def __init__(self, vim: Neovim, folder: Path, seed: int) -> None:
        super().__init__(seed)
        self.vim = vim
        self.files = [folder / "one.py", folder / "two.py"]
        self.patience = PATIENCE_S
        for file in reversed(self.files):
            file.write_text(START + "\n")
        vim.open(self.files[1], START + "\n")
        self.plain()
        vim.command(f"edit {self.name(0)}")
        self.plain()

    def plain(self) -> None:
        """No indentation by itself: the model knows of none."""
        self.vim.command("setlocal noautoindent indentexpr= textwidth=0 formatoptions= indentkeys=")

    def name(self, index: int) -> str:
        return str(self.files[index]).replace(" ", "\\ ")

    def held(self) -> str:
        return "\n".join(self.vim.lines())

    def troubles(self) -> Sequence[str]:
        return [error for error in (self.vim.errors(),) if error]

    def show(self) -> None:
        self.vim.command(f"buffer {self.name(self.current)}")

    def servers(self) -> Sequence[int]:
        return self.vim.server_pids()

    def go(self, line: int, column: int) -> None:
        self.vim.go(line + 1, len(self.text.lines[line][:column].encode()))

    def type(self) -> None:
        line, column = self.place()
        at, text = self.text.offset(line, column), self.random.choice(TYPED)
        self.go(line, column)
        self.vim.keys("A" if column == len(self.text.lines[line]) else "i")
        self.vim.type(text)
        self.vim.keys("<Esc>")
        self.text.replace(at, at, text)

    def delete(self) -> None:
        line, column = self.place()
        lines, at = self.text.lines, self.text.offset(line, column)
        self.go(line, column)
        if self.random.random() < 0.3 and len(lines) > 1:
            self.vim.keys("dd")
            self.text.replace(0, len(self.text.now), "\n".join(lines[:line] + lines[line + 1 :]))
        elif column < len(lines[line]):
            self.vim.keys("x")
            self.text.replace(at, at + 1, "")

    def undo(self) -> None:
        self.vim.keys("u")
        self.text.undo()

    def accept(self, part: str = "all") -> None:
        line, _ = self.place()
        at, typed = self.text.offset(line, len(self.text.lines[line])), self.random.choice(BEGUN)
        self.go(line, 0)
        self.vim.keys("A")
        self.vim.type(typed)
        self.text.replace(at, at, typed)
        if ghost := self.awaited_ghost():
            self.vim.keys(KEYS[part])
            self.take(at + len(typed), ghost, part == "all")
        self.vim.keys("<Esc>")

    def accept_word(self) -> None:
        self.accept("word")

    def accept_line(self) -> None:
        self.accept("line")

    def awaited_ghost(self) -> str | None:
        """The suggestion, if one comes while there is patience; an engine that was killed takes its time."""
        began, notes = time.monotonic(), len(self.vim.log())
        while not (ghost := self.vim.ghost()) and time.monotonic() - began < min(GHOST_S, self.patience):
            idle = self.vim.lua("return require('dlsp.status').state") == "ready"
            # A note may be of what was asked before.
            if idle and len(self.vim.log()) > notes and time.monotonic() - began > SETTLED_S:
                break
            time.sleep(0.02)
        self.patience -= time.monotonic() - began
        return ghost


@pytest.mark.parametrize("count", [100, pytest.param(500, marks=pytest.mark.prove)])
def test_random_actions(real: Neovim, folder: Path, engine: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLSP_STATE_DIR", str(engine))
    Walk(real, folder, seed=8).run(count)
    real.keys(":Dlsp restart<CR>")  # the walk may end where the plugin has had enough of a dying server
    real.wait_for_server()
