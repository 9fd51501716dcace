from pathlib import Path

import pytest

from dlsp.cli import place
from dlsp.errors import UserError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a file.py"
    path.write_bytes("\ufeffdef f(é):\r\n    return \r\n".encode())
    return path


@pytest.mark.parametrize(
    ("where", "before", "after"),
    [
        ("1:1", "", "def f(é):\r\n    return \r\n"),
        ("1:10", "def f(é):", "\r\n    return \r\n"),
        ("2:12", "def f(é):\r\n    return ", "\r\n"),
        ("3:1", "def f(é):\r\n    return \r\n", ""),
    ],
)
def test_places(file: Path, where: str, before: str, after: str) -> None:
    found = place.find(f"{file}:{where}")
    assert (found.before, found.after) == (before, after)


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("", "is no place"),
        (":1", "is no place"),
        (":0:1", "has 3 lines, so there is no line 0"),
        (":4:1", "has 3 lines, so there is no line 4"),
        (":2:0", "Line 2 of .* has 11 characters: give a column from 1 to 12, not 0"),
        (":2:13", "from 1 to 12, not 13"),
        (":3:2", "has 0 characters: give a column from 1 to 1"),
    ],
)
def test_no_such_place(file: Path, where: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        place.find(f"{file}{where}")


def test_no_such_file(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\x7fELF\0\0")
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    for name, sentence in (
        ("missing.py", "There is no file"),
        (".", "is a folder"),
        ("binary", "is no text: it holds NUL bytes"),
        ("latin", "is not UTF-8 text"),
        ("binary/x", "cannot be read: Not a directory"),
    ):
        with pytest.raises(UserError, match=sentence):
            place.find(f"{tmp_path / name}:1:1")
