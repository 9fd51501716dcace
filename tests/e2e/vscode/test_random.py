"""Random actions, with the server killed in between, end in the files that a model of them has."""

import os
import random
import signal
from dataclasses import dataclass, field

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.vscode.code import ACCEPT_WORD, Code
from tests.e2e.vscode.test_manners import before
from tests.e2e.vscode.test_status import servers

COUNT = 100
KILLS = 2
WEIGHTS = {"type": 30, "delete": 18, "undo": 16, "accept": 12, "accept_word": 6, "switch": 8}
TYPED = ("x", "total = 0", "\u00e9", "f(a, b)", "# 文字 🙂", "return ", "    if ")
START = "def add(a, b):\n    return a + b\n\n\nnumbers = [1, 2, 3]\nprint(add(1, 2))"


@dataclass
class Model:
    """What a file must hold, and what undo goes back to."""

    text: str
    past: list[str] = field(default_factory=list)

    def change(self, text: str) -> None:
        if text != self.text:
            self.past.append(self.text)
            self.text = text

    def undo(self) -> None:
        if self.past:
            self.text = self.past.pop()


class Walk:
    """Two files of one VS Code."""

    def __init__(self, code: Code, seed: int) -> None:
        self.code, self.random = code, random.Random(seed)
        self.models = [Model(START), Model(START)]
        self.names = [code.open(START, "one.txt")]
        self.names += [code.open(START, "two.txt", alone=False)]
        self.now, self.accepted = 1, 0

    @property
    def model(self) -> Model:
        return self.models[self.now]

    def at(self) -> int:
        """Go to a random place that undo makes a step of its own; its offset."""
        lines = self.model.text.split("\n")
        line = self.random.randrange(len(lines))
        column = self.random.randint(0, len(lines[line]))
        if not lines[line].isascii():  # VS Code counts cells there
            column = self.random.choice((0, len(lines[line])))
        offset = sum(len(each) + 1 for each in lines[:line]) + column
        at_end = column == len(lines[line])
        self.code.go(line + 1, 1 if at_end else column + 1)
        # Keys that move the cursor, unlike Go to Line, end a step of undo.
        self.code.press(*(["End"] if at_end else ["ArrowRight", "ArrowLeft"]))
        return offset

    def type(self) -> None:
        at, text = self.at(), self.random.choice(TYPED)
        self.code.insert(text)
        self.model.change(self.model.text[:at] + text + self.model.text[at:])

    def delete(self) -> None:
        at = self.at()
        if at < len(self.model.text):
            self.code.press("Delete")
            self.model.change(self.model.text[:at] + self.model.text[at + 1 :])

    def undo(self) -> None:
        """VS Code takes back what was typed in some steps, white space by itself."""
        was, _ = self.model.text, self.model.undo()
        for _ in range(len(was)):
            if self.code.text() == self.model.text:
                break
            self.code.press("Control+Z")

    def accept(self, key: str = "Tab") -> None:
        lines = self.model.text.split("\n")
        line = self.random.randrange(len(lines))
        at = sum(len(each) + 1 for each in lines[:line]) + len(lines[line])
        self.code.go(line + 1, 1)
        self.code.press("End")
        self.code.insert(" # z")
        self.model.change(self.model.text[:at] + " # z" + self.model.text[at:])
        at += len(" # z")
        try:
            ghost = self.code.wait_for_ghost("_one two", 3)
        except AssertionError:
            return
        self.code.press(key)
        text = ghost if key == "Tab" else "_one"
        self.model.change(self.model.text[:at] + text + self.model.text[at:])
        self.accepted += 1

    def accept_word(self) -> None:
        self.accept(ACCEPT_WORD)

    def switch(self) -> None:
        self.now = 1 - self.now
        self.code.show(self.names[self.now])

    def kill(self) -> None:
        for each in servers(self.code):
            os.kill(each.pid, signal.SIGKILL)

    def act(self, action: str) -> None:
        getattr(self, action)()
        self.code.press("Escape")
        assert self.code.text() == self.model.text, action


def test_random_actions(code: Code, stub: StubEngine) -> None:
    stub.answer = lambda request: "_one two" if before(request).endswith("z") else ""
    walk = Walk(code, seed=8)
    actions = walk.random.choices(list(WEIGHTS), list(WEIGHTS.values()), k=COUNT - KILLS) + ["kill"] * KILLS
    walk.random.shuffle(actions)
    for action in actions:
        walk.act(action)
    walk.switch()
    assert code.text() == walk.model.text
    assert walk.accepted >= 5
