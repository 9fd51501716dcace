"""llama.vim's requests, sent by a real Vim and curl: ghost text is shown and taken, and each request is understood."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.terminal import Terminal
from tests.e2e.vim.provide import PROGRAM, environment

PLUGIN = Path(__file__).with_name("llama.vim")
TEXT = "def add(a, b):\n\n\nprint(add(1, 2))\n"


@pytest.fixture
def terminal(root: Path, address: str, stub: StubEngine, tmp_path: Path) -> Iterator[Terminal]:
    stub.reset()
    (tmp_path / "sum.py").write_text(TEXT)
    settings = f"let g:llama_endpoint = '{address}/infill'"
    bare = ["-T", "ansi", "-u", "NONE", "-i", "NONE", "-n", "-N"]
    words = [root / PROGRAM, *bare, "--cmd", settings, "-S", PLUGIN, "sum.py"]
    terminal = Terminal(words, tmp_path, environment(root) | {"HOME": str(tmp_path)})
    terminal.until_shown("print(add(1, 2))")
    yield terminal
    terminal.close()


def test_ghost_text_is_shown_and_taken(terminal: Terminal, stub: StubEngine, tmp_path: Path) -> None:
    stub.answer = lambda request: "a + b"
    terminal.keys(":call LlamaWarmUp()\r")
    terminal.until(lambda: len(stub.requests) == 1, "the prompt is read ahead")
    terminal.keys("2Gi    return ")
    terminal.until_shown("    return a + b")
    warm, *asked = stub.requests
    assert (warm["priority"], warm["max_tokens"]) == ("prefetch", 1)
    gap = asked[-1]["gaps"][0]
    assert gap["prefix"] + gap["middle"] == "def add(a, b):\n    return "
    assert gap["suffix"] == "\n\nprint(add(1, 2))\n"
    assert asked[-1]["files"] == [{"path": "a.py", "text": "A = 1\n"}]
    terminal.keys("\t\x1b:w\r")
    terminal.until(lambda: "return" in (tmp_path / "sum.py").read_text(), "the file is written")
    assert (tmp_path / "sum.py").read_text() == TEXT.replace("\n\n\n", "\n    return a + b\n\n", 1)


def test_the_answer_has_the_fields_that_were_asked_for(terminal: Terminal, stub: StubEngine, tmp_path: Path) -> None:
    stub.answer = lambda request: "a + b\n    # é\n"
    terminal.keys("2Gi    return ")
    terminal.until_shown("# é")
    terminal.keys("\x1b:call writefile([json_encode([g:llama_sent[-1], g:llama_received[-1]])], 'told.json')\r")
    terminal.until((tmp_path / "told.json").exists, "what was sent and received is written")
    sent, received = json.loads((tmp_path / "told.json").read_text())
    assert set(received) == set(sent["response_fields"])
    assert received["content"].startswith("a + b")
