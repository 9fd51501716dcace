"""Suggestions in Emacs, by Company as one types and by a key, and code actions."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.emacs.emacs import COMPLETE, ENTER, TOP, UNDO, Emacs

HEAD = "def add(a, b):\n    "


@contextmanager
def editing(root: Path, folder: Path, state: Path, text: str) -> Iterator[Emacs]:
    """At the end of a file with `text`, the server being there."""
    file = folder / "sum.py"
    file.write_text(text)
    with Emacs(root, folder / "own", file, state) as emacs:
        emacs.until_shown("[eglot:")
        yield emacs


@pytest.fixture
def state(stub: StubEngine) -> Path:
    stub.reset()
    return stub.file.parent


def test_it_comes_while_one_types(root: Path, folder: Path, state: Path) -> None:
    with editing(root, folder, state, HEAD) as emacs:
        emacs.keys("return max(")
        emacs.until_shown("max(a + b")
        emacs.keys(ENTER)
        assert emacs.saved() == f"{HEAD}return max(a + b\n"


def test_what_is_not_taken_stays_away(root: Path, folder: Path, state: Path) -> None:
    with editing(root, folder, state, HEAD) as emacs:
        emacs.keys("return max(")
        emacs.until_shown("max(a + b")
        emacs.keys("b, ")
        assert emacs.saved() == f"{HEAD}return max(b, \n"


def test_it_goes_on_with_a_word(root: Path, folder: Path, state: Path, stub: StubEngine) -> None:
    with editing(root, folder, state, f'{HEAD}x = "é😀", ') as emacs:
        stub.answer = lambda request: "pha + b"
        emacs.keys("al" + COMPLETE)
        emacs.until_shown("alpha + b")
        assert emacs.saved() == f'{HEAD}x = "é😀", alpha + b\n'


def test_lines_come_as_they_are(root: Path, folder: Path, state: Path, stub: StubEngine) -> None:
    text = "sum(\n        [a, '$b']\n    )"
    stub.answer = lambda request: text
    with editing(root, folder, state, HEAD) as emacs:
        emacs.keys("return " + COMPLETE)
        emacs.until_shown("[a, '$b']")
        assert emacs.saved() == f"{HEAD}return {text}\n"


def test_the_function_at_the_cursor_is_filled(root: Path, folder: Path, state: Path, stub: StubEngine) -> None:
    with editing(root, folder, state, f'{HEAD}"""The sum."""') as emacs:
        stub.answer = lambda request: "return a + b"
        emacs.ask("eglot-code-actions")
        emacs.until_shown("Fill function")
        emacs.keys(ENTER)
        emacs.until_shown("return a + b")
        assert emacs.saved() == f'{HEAD}"""The sum."""\n    return a + b\n'


def test_an_edit_is_carried_on_and_undone_at_once(root: Path, folder: Path, state: Path) -> None:
    calls = "".join(f"\n\ndef {name}(x):\n    return total(x) + {name}\n" for name in ("one", "two", "three"))
    text = f"def total(items):\n    return sum(items)\n{calls}"
    with editing(root, folder, state, text) as emacs:
        emacs.keys(TOP)
        emacs.ask("query-replace")
        emacs.keys(f"total(items){ENTER}summed(items){ENTER}y")
        emacs.until_shown("Replaced 1 occurrence")
        emacs.ask("eglot-code-actions")
        emacs.until_shown("Carry this edit on (3 places)")
        emacs.keys(ENTER)
        emacs.until_shown("summed(x) + three")
        carried = emacs.saved()
        emacs.keys(UNDO)
        emacs.until_shown("total(x) + three")
        assert carried == text.replace("total", "summed")
        assert emacs.saved() == text.replace("total(items)", "summed(items)")


@pytest.mark.model
def test_the_model_writes_a_line(root: Path, folder: Path, engine: Path) -> None:
    with editing(root, folder, engine, HEAD) as emacs:
        emacs.keys("return " + COMPLETE)
        emacs.until_shown("return a + b")
        assert emacs.saved() == f"{HEAD}return a + b\n"
