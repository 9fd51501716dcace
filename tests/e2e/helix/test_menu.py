"""Suggestions in the menu of an editor that has no ghost text, and its code actions."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.helix.helix import CTRL_X, ENTER, TAB, Helix

HEAD = "def add(a, b):\n    "


@contextmanager
def editing(program: Path, folder: Path, state: Path, text: str) -> Iterator[Helix]:
    """At the end of a file with `text`, the server being there."""
    file = folder / "sum.py"
    file.write_text(text)
    with Helix(program, folder / "own", file, state) as helix:
        helix.wait_for_server()
        yield helix


@pytest.fixture
def state(stub: StubEngine) -> Path:
    stub.reset()
    return stub.file.parent


def test_it_comes_while_one_types(program: Path, folder: Path, state: Path) -> None:
    with editing(program, folder, state, HEAD) as helix:
        helix.keys("return max(")
        helix.until_shown("a + b")
        helix.keys(TAB + ENTER)
        assert helix.saved() == f"{HEAD}return max(a + b)\n"


def test_it_goes_on_with_a_word(program: Path, folder: Path, state: Path, stub: StubEngine) -> None:
    with editing(program, folder, state, f'{HEAD}x = "é😀", ') as helix:
        stub.answer = lambda request: "pha + b"
        helix.keys("al" + CTRL_X)
        helix.until_shown("alpha + b")
        helix.keys(TAB + ENTER)
        assert helix.saved() == f'{HEAD}x = "é😀", alpha + b\n'


def test_lines_come_as_they_are(program: Path, folder: Path, state: Path, stub: StubEngine) -> None:
    text = "sum(\n        [a, '$b']\n    )"
    stub.answer = lambda request: text
    with editing(program, folder, state, HEAD) as helix:
        helix.keys("return " + CTRL_X)
        helix.until_shown("sum( … +2")
        helix.keys(TAB)
        helix.until_shown("[a, '$b']")
        helix.keys(ENTER)
        assert helix.saved() == f"{HEAD}return {text}\n"


def test_the_function_at_the_cursor_is_filled(program: Path, folder: Path, state: Path, stub: StubEngine) -> None:
    """In normal mode the cursor is a selection of one character, but not of a line to write anew."""
    with editing(program, folder, state, f'{HEAD}"""The sum."""') as helix:
        stub.answer = lambda request: "return a + b"
        helix.escape()
        helix.keys(" a")
        helix.until_shown("Fill function")
        helix.keys(ENTER)
        helix.until_shown("return a + b")
        assert helix.saved() == f'{HEAD}"""The sum."""\n    return a + b\n'


@pytest.mark.model
def test_the_model_writes_a_line(program: Path, folder: Path, engine: Path) -> None:
    with editing(program, folder, engine, HEAD) as helix:
        helix.keys("return " + CTRL_X)
        helix.until_shown("a + b")
        helix.keys(TAB + ENTER)
        assert helix.saved() == f"{HEAD}return a + b\n"
