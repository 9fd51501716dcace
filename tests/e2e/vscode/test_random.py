"""Random actions, with servers and engines killed in between, end in the files that a model of them has."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.vscode.code import Code
from tests.e2e.vscode.settings import ACCEPT_LINE, ACCEPT_WORD
from tests.e2e.vscode.test_status import servers
from tests.e2e.walk import START
from tests.e2e.walk import Walk as Base

pytestmark = pytest.mark.model

TYPED = ("x", "total = 0", "é", "f(a, b)", "# 文字 🙂", "return ", "    if ")
ASKED = (" = ", "  # the ", "\nfor each in num", "\nprint(add(1, ")
GHOST_S = 6.0
PATIENCE_S = 90.0


class Walk(Base):
    """Two files of one VS Code."""

    def __init__(self, code: Code, seed: int) -> None:
        super().__init__(seed)
        self.code, self.patience = code, PATIENCE_S
        second = code.open(START, "two.txt")  # plain text: nothing is closed or indented by itself
        self.names = [code.open(START, "one.txt", alone=False), second]

    def held(self) -> str:
        self.code.press("Escape")
        return self.code.text()

    def troubles(self) -> Sequence[str]:
        return self.code.notifications()

    def show(self) -> None:
        self.code.show(self.names[self.current])

    def servers(self) -> Sequence[int]:
        return [each.pid for each in servers(self.code)]

    def go(self) -> int:
        """To a random place where undo begins a step of its own; its offset."""
        line, column = self.place()
        whole = self.text.lines[line]
        if not whole.isascii():  # VS Code counts cells there
            column = self.random.choice((0, len(whole)))
        self.code.go(line + 1, 1 if column == len(whole) else column + 1)
        # Keys that move the cursor, unlike Go to Line, end a step of undo.
        self.code.press(*(["End"] if column == len(whole) else ["ArrowRight", "ArrowLeft"]))
        return self.text.offset(line, column)

    def type(self) -> None:
        at, text = self.go(), self.random.choice(TYPED)
        self.code.insert(text)
        self.text.replace(at, at, text)

    def delete(self) -> None:
        at = self.go()
        if at < len(self.text.now):
            self.code.press("Delete")
            self.text.replace(at, at + 1, "")

    def undo(self) -> None:
        """VS Code takes back what was typed in some steps, white space by itself."""
        most, _ = len(self.text.now), self.text.undo()
        for _ in range(most):
            if self.code.text() == self.text.now:
                break
            self.code.press("Control+Z")

    def accept(self, key: str = "Tab") -> None:
        line, _ = self.place()
        at, typed = self.text.offset(line, len(self.text.lines[line])), self.random.choice(ASKED)
        self.code.go(line + 1, 1)
        self.code.press("End")
        self.code.insert(typed)
        self.text.replace(at, at, typed)
        if ghost := self.awaited_ghost():
            self.code.press(key)
            held, at = self.held(), at + len(typed)
            taken = held[at : at + len(held) - len(self.text.now)]
            right = taken == ghost if key == "Tab" else ghost.startswith(taken)
            assert right, f"{key} of {ghost!r} gave {taken!r}"
            self.take(at, taken, True)

    def accept_word(self) -> None:
        self.accept(ACCEPT_WORD)

    def accept_line(self) -> None:
        self.accept(ACCEPT_LINE)

    def awaited_ghost(self) -> str:
        """The suggestion, if one comes while there is patience."""
        began = time.monotonic()
        while not (ghost := self.code.ghost()) and time.monotonic() - began < min(GHOST_S, self.patience):
            if self.code.status()[0] == "dash":
                break
            time.sleep(0.02)
        self.patience -= time.monotonic() - began
        return ghost


@pytest.mark.parametrize("count", [100, pytest.param(500, marks=pytest.mark.prove)])
def test_random_actions(real: Code, engine: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLSP_STATE_DIR", str(engine))
    Walk(real, seed=8).run(count)
