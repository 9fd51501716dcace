"""Random actions, with servers and engines killed in between, end in the buffers that a model of them has."""

import os
import random
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dlsp.engine import state
from dlsp.models.catalogue import DEFAULT
from tests.e2e.neovim.neovim import Neovim

pytestmark = pytest.mark.model

ACTIONS = {"0.10": 100, "0.12": 500}
KILLS = ["kill_server"] * 3 + ["kill_engine"] * 2
WEIGHTS = {"type": 32, "delete": 20, "undo": 18, "accept": 5, "accept_word": 2, "accept_line": 2, "switch": 10}
TYPED = ("x", "total = 0", "for each in numbers:\n    ", "é", "f(a, b)", "\n", "# 文字 🙂", "return ", '"', "    if ")
GHOST_S = 15.0
PATIENCE_S = 90.0
KEYS = {"accept": "<Tab>", "accept_word": "<M-Right>", "accept_line": "<M-C-Right>"}
START = "def add(a, b):\n    return a + b\n\n\nnumbers = [1, 2, 3]\nprint(add(1, 2))"


@dataclass
class Model:
    """What a buffer must hold, and what undo goes back to."""

    text: str
    past: list[str] = field(default_factory=list)

    def change(self, text: str) -> None:
        if text != self.text:
            self.past.append(self.text)
            self.text = text

    def undo(self) -> None:
        if self.past:
            self.text = self.past.pop()

    def place(self, at: random.Random) -> tuple[int, int]:
        """A line and a column in characters, both from 0."""
        lines = self.text.split("\n")
        line = at.randrange(len(lines))
        return line, at.randint(0, len(lines[line]))

    def offset(self, line: int, column: int) -> int:
        return sum(len(each) + 1 for each in self.text.split("\n")[:line]) + column


class Walk:
    """One Neovim and two buffers."""

    def __init__(self, vim: Neovim, folder: Path, seed: int) -> None:
        self.vim, self.random = vim, random.Random(seed)
        self.models = [Model(START), Model(START)]
        self.files = [folder / "one.py", folder / "two.py"]
        self.now = 0
        self.accepted = 0
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

    @property
    def model(self) -> Model:
        return self.models[self.now]

    def go(self) -> int:
        """To a random place; its offset in the text."""
        line, column = self.model.place(self.random)
        self.vim.go(line + 1, len(self.model.text.split("\n")[line][:column].encode()))
        return self.model.offset(line, column)

    def type(self) -> None:
        line, column = self.model.place(self.random)
        lines = self.model.text.split("\n")
        text = self.random.choice(TYPED)
        offset = self.model.offset(line, column)
        self.vim.go(line + 1, len(lines[line][:column].encode()))
        self.vim.keys("A" if column == len(lines[line]) else "i")
        self.vim.type(text)
        self.vim.keys("<Esc>")
        self.model.change(self.model.text[:offset] + text + self.model.text[offset:])

    def delete(self) -> None:
        lines = self.model.text.split("\n")
        line, column = self.model.place(self.random)
        if self.random.random() < 0.3 and len(lines) > 1:
            self.vim.go(line + 1, 0)
            self.vim.keys("dd")
            self.model.change("\n".join(lines[:line] + lines[line + 1 :]))
        elif column < len(lines[line]):
            self.vim.go(line + 1, len(lines[line][:column].encode()))
            self.vim.keys("x")
            offset = self.model.offset(line, column)
            self.model.change(self.model.text[:offset] + self.model.text[offset + 1 :])

    def undo(self) -> None:
        self.vim.keys("u")
        self.model.undo()

    def accept(self, how: str) -> None:
        line, _ = self.model.place(self.random)
        end = self.model.offset(line, len(self.model.text.split("\n")[line]))
        typed = self.random.choice(("", " ", "x"))
        self.vim.go(line + 1, 0)
        self.vim.keys("A" + typed)
        self.model.change(self.model.text[:end] + typed + self.model.text[end:])
        ghost = self.awaited_ghost()
        if ghost:
            self.vim.keys(KEYS[how])
            left = self.vim.lua("return require('dlsp.suggest').text()") if how != "accept" else None
            text = ghost.removesuffix(left) if left and ghost.endswith(left) else ghost
            end += len(typed)
            self.model.change(self.model.text[:end] + text + self.model.text[end:])
            self.accepted += 1
        self.vim.keys("<Esc>")

    def awaited_ghost(self) -> str | None:
        """The suggestion, if one comes while there is patience; an engine that was killed takes its time."""
        began, notes = time.monotonic(), len(self.vim.log())
        while not (ghost := self.vim.ghost()) and time.monotonic() - began < min(GHOST_S, self.patience):
            idle = self.vim.lua("return require('dlsp.status').state") == "ready"
            if idle and len(self.vim.log()) > notes:
                break
            time.sleep(0.02)
        self.patience -= time.monotonic() - began
        return ghost

    def switch(self) -> None:
        self.now = 1 - self.now
        self.vim.command(f"buffer {self.name(self.now)}")

    def kill_server(self) -> None:
        for pid in self.vim.server_pids():
            os.kill(pid, signal.SIGKILL)

    def kill_engine(self) -> None:
        if running := state.read(DEFAULT.name):
            os.kill(running.pid, signal.SIGKILL)

    def act(self, action: str) -> None:
        if action in KEYS:
            self.accept(action)
        else:
            getattr(self, action)()
        assert "\n".join(self.vim.lines()) == self.model.text, action
        assert self.vim.errors() == "", action


def test_random_actions(
    real: Neovim, folder: Path, engine: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("DLSP_STATE_DIR", str(engine))
    walk, count = Walk(real, folder, seed=8), ACTIONS[request.node.callspec.params["program"]]
    actions = walk.random.choices(list(WEIGHTS), list(WEIGHTS.values()), k=count - len(KILLS)) + KILLS
    walk.random.shuffle(actions)
    for action in actions:
        walk.act(action)
    for index, model in enumerate(walk.models):
        real.command(f"buffer {walk.name(index)}")
        assert "\n".join(real.lines()) == model.text
    assert walk.accepted >= count // 100
