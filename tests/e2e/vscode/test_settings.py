"""The user's settings, changed while VS Code runs; and what the server is told of suggestions."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.texts import asked
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.settings import ACCEPT_WORD
from tests.e2e.vscode.test_status import servers

Configure = Callable[[Mapping[str, Any]], None]


@pytest.fixture
def configure(code: Code) -> Iterator[Configure]:
    """Changes the settings; they are as before after the test."""
    yield code.configure
    code.configure({})


def test_the_servers_settings_apply_without_a_restart(code: Code, stub: StubEngine, configure: Configure) -> None:
    (before,) = servers(code)
    configure({"dlsp.mode": "autoregressive"})

    def applies() -> bool:
        code.type("x ")
        code.wait_for_ghost()
        return asked(stub)[-1]["mode"] == "autoregressive"

    code.until(applies, "the server has the new setting")
    assert servers(code) == [before]


def test_a_language_is_left_alone(code: Code, stub: StubEngine, configure: Configure) -> None:
    configure({"dlsp.languages": {"python": False}})
    code.until(lambda: code.status()[0] == "circle-slash", "it is off")
    assert code.status()[1] == "dlsp is off for python files, by the setting dlsp.languages."
    code.type("return ")
    assert asked(stub) == []
    configure({})
    code.until(lambda: code.status()[0] != "circle-slash", "it is on")
    code.type("x")
    code.wait_for_ghost()


def test_what_became_of_suggestions_is_told_to_the_server(code: Code, configure: Configure, tmp_path: Path) -> None:
    told, program = tmp_path / "told", tmp_path / "dlsp"
    program.write_text(f'#!/bin/sh\ntee -a "{told}" | "{Path(sys.executable).with_name("dlsp")}" "$@"\n')
    program.chmod(0o755)
    configure({"dlsp.command": str(program)})
    code.until(lambda: told.exists() and "initialized" in told.read_text(), "the server is another one")
    code.until(lambda: code.status()[0] == "sparkle", "it is ready")
    code.type("return ")
    code.wait_for_ghost()
    code.press(ACCEPT_WORD, "Tab")
    assert code.text() == "return a + b"
    pattern = re.compile(
        r'{"jsonrpc":"2.0","method":"textDocument/did(Show|PartiallyAccept)Completion".*?}}(?=Content|$)'
    )
    code.until(lambda: len(pattern.findall(told.read_text())) >= 3, "it is told")
    found = [json.loads(each[0]) for each in pattern.finditer(told.read_text())]
    kinds = [(each["method"].partition("/did")[2], each["params"].get("acceptedLength", 0)) for each in found]
    assert kinds[0] == ("ShowCompletion", 0)
    assert kinds[-2:] == [("PartiallyAcceptCompletion", 1), ("PartiallyAcceptCompletion", len("a + b"))]
