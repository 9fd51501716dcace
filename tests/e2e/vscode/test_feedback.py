"""What becomes of suggestions reaches the server, which learns from it: seen in the file where it keeps that."""

import json

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.texts import DONE, FILLED, events
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.settings import ACCEPT_WORD, RESTART
from tests.e2e.vscode.test_status import servers


def learned(code: Code, stub: StubEngine) -> float:
    """What a server has learned of Python so far; one writes it down as it ends."""
    before = servers(code)
    code.press(RESTART)
    code.until(lambda: len(servers(code)) == 1 and servers(code) != before, "there is another server")
    code.until(lambda: code.status()[0] == "sparkle", "it is ready")
    file = stub.file.parent / "manners.json"
    return json.loads(file.read_text()).get("python", 0.0) if file.exists() else 0.0


def suggested(code: Code, stub: StubEngine) -> None:
    """A suggestion of which the engine says how sure it is: only from such does the server learn."""
    stub.raw = events({**FILLED, "text": "total + b", "reason": "line", "confidence": [[5, -0.2], [4, -0.2]]}, DONE)
    code.type("return ")
    code.wait_for_ghost("total + b")


@pytest.mark.parametrize(("key", "text"), [("Tab", "return total + b"), (ACCEPT_WORD, "return total")])
def test_what_is_shown_and_accepted_was_right(code: Code, stub: StubEngine, key: str, text: str) -> None:
    before = learned(code, stub)
    suggested(code, stub)
    code.press(key)
    assert code.text() == text
    assert learned(code, stub) > before


def test_a_dismissed_suggestion_does_not_come_back(code: Code, stub: StubEngine) -> None:
    before = learned(code, stub)
    suggested(code, stub)
    code.press("Escape")
    code.until(lambda: not code.ghost(), "it is gone")
    code.type("t")
    code.until(lambda: code.status()[0] == "dash", "it is quiet")
    assert code.status()[1] == "dlsp: quiet, you sent this suggestion away"
    assert code.text() == "return t"
    assert learned(code, stub) < before
