"""The status bar, the commands behind it, and what happens when things die."""

import os
import signal
import time
from contextlib import suppress

import psutil
import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.texts import asked
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.settings import RESTART


def servers(code: Code) -> list[psutil.Process]:
    """The language servers of this VS Code."""
    found = []
    for each in psutil.Process(code.pid).children(recursive=True):
        with suppress(psutil.Error):  # it has ended by now
            if {"serve", "--stdio"} <= set(each.cmdline()):
                found.append(each)
    return found


def test_thinking_ready_and_quiet(code: Code, stub: StubEngine) -> None:
    stub.hold.set()
    code.type("return ")
    code.until(lambda: code.status() == ("loading", "dlsp: thinking"), "it thinks")
    stub.hold.clear()
    code.wait_for_ghost()
    code.until(lambda: code.status() == ("sparkle", "dlsp: ready"), "it is ready")
    stub.answer = lambda request: ""
    code.type("x")
    code.until(lambda: code.status()[0] == "dash", "it is quiet")
    assert code.status()[1].startswith("dlsp: quiet, the model has nothing to add here")


def test_a_busy_engine(code: Code, stub: StubEngine) -> None:
    stub.raw, stub.beats = b"\n", True
    stub.more.set()
    code.type("return ")
    code.until(lambda: code.status()[0] == "watch", "it says that the engine is busy")
    assert code.status()[1].startswith("dlsp: busy, the engine is too busy to answer in time")
    stub.raw = None
    stub.more.clear()
    code.type("x")
    code.wait_for_ghost()
    code.until(lambda: code.status() == ("sparkle", "dlsp: ready"), "it is ready")


def test_off_and_on(code: Code) -> None:
    code.command("dlsp: Toggle Suggestions")
    code.until(lambda: code.status()[0] == "circle-slash", "it is off")
    code.type("return ")
    time.sleep(0.8)
    assert code.ghost() == ""
    code.command("dlsp: Why Nothing?")
    code.until(lambda: code.notifications(), "there is a reason")
    assert code.notifications() == ["dlsp is off: `dlsp: Toggle Suggestions` switches it on."]
    code.clear_notifications()
    code.command("dlsp: Toggle Suggestions")
    code.until(lambda: code.status()[0] != "circle-slash", "it is on")
    code.type("x")
    code.wait_for_ghost()


def test_settings_apply_without_a_restart(code: Code, stub: StubEngine) -> None:
    before = servers(code)

    def mode(name: str) -> bool:
        number = len(asked(stub))
        code.press("Enter")
        code.type("x")
        code.until(lambda: len(asked(stub)) > number, "the engine is asked")
        return asked(stub)[-1]["mode"] == name

    assert mode("verified")
    try:
        code.configure({"dlsp.mode": "diffusion"})
        code.until(lambda: mode("diffusion"), "the server has the new setting")
        code.configure({"dlsp.suggestByLanguage": {"python": "off"}})
        code.until(lambda: code.status()[0] == "circle-slash", "it is off for the language")
        assert code.status()[1] == "dlsp is off for python files, by the setting dlsp.suggestByLanguage."
        code.type("x")
        time.sleep(0.8)
        assert code.ghost() == ""
    finally:
        code.configure({})
    code.until(lambda: code.status()[0] != "circle-slash", "it is on")
    code.until(lambda: mode("verified"), "the server has the old setting")
    assert servers(code) == before


def test_the_menu_snoozes(code: Code) -> None:
    code.click_status()
    code.until(lambda: len(code.picks()) == 9, "the menu is open")
    code.screenshot("menu")
    code.press("Escape")
    code.command("dlsp: Snooze")
    code.until(lambda: code.picks() == ["5 minutes", "30 minutes", "60 minutes"], "the minutes are offered")
    code.press("Enter")
    code.until(lambda: code.status()[0] == "circle-slash", "it is off")
    assert code.status()[1] == "dlsp is snoozed for 5 more minutes."
    code.command("dlsp: Toggle Suggestions")
    code.until(lambda: code.status()[0] != "circle-slash", "it is on")


def test_why_nothing(code: Code, stub: StubEngine) -> None:
    stub.answer = lambda request: ""
    code.type("x")
    code.until(lambda: code.status()[0] == "dash", "it is quiet")
    code.command("dlsp: Why Nothing?")
    code.until(lambda: code.notifications(), "there is a reason")
    assert code.notifications() == ["dlsp: the model has nothing to add here."]
    code.clear_notifications()
    code.press("Backspace")  # the reason stays where it is looked for
    assert "the model has nothing to add here" in code.status()[1]


def test_a_server_that_dies_is_started_again(code: Code) -> None:
    code.type("return ")
    code.wait_for_ghost()
    (before,) = servers(code)
    os.kill(before.pid, signal.SIGKILL)
    code.until(lambda: servers(code) not in ([], [before]), "there is another server")
    code.until(lambda: code.status()[0] == "sparkle", "it is ready")
    code.type("x")
    code.wait_for_ghost()
    assert code.text() == "return x"


@pytest.mark.model
def test_the_model_is_downloaded_and_the_server_started_again(code: Code) -> None:
    """It is here already, which `dlsp model pull` sees by itself."""
    (before,) = servers(code)
    code.command("dlsp: Download the Model")
    code.until(lambda: len(servers(code)) == 1 and servers(code) != [before], "there is another server")
    code.until(lambda: code.status()[0] == "sparkle", "it is ready")
    code.type("return ")
    code.wait_for_ghost()


def test_restart(code: Code) -> None:
    (before,) = servers(code)
    code.press(RESTART)
    code.until(lambda: len(servers(code)) == 1 and servers(code) != [before], "there is another server")
    code.until(lambda: code.status()[0] == "sparkle", "it is ready")
    code.type("return ")
    code.wait_for_ghost()


def test_restart_while_it_starts_leaves_one_server(code: Code) -> None:
    (before,) = servers(code)
    os.kill(before.pid, signal.SIGKILL)
    code.press(RESTART, RESTART)
    code.until(lambda: len(servers(code)) == 1 and servers(code) != [before], "there is another server")
    time.sleep(0.9)  # one is ready now, and is about to be restarted
    code.type("return ")  # answered once somebody can
    code.wait_for_ghost()
    code.until(lambda: len(servers(code)) == 1, "one server is left")
