"""Which files that are not open are looked at."""

from pathlib import Path

import pytest

from dlsp.context.workspace import Workspace
from dlsp.edits.history.edit import Edit
from dlsp.edits.search import files as elsewhere
from dlsp.edits.search.page import Page
from dlsp.syntax import languages


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def looked_at(root: Path, path: str) -> list[str]:
    """After `load` was renamed in the file `path`."""
    before, after = "def load():\n    pass\n", "def read():\n    pass\n"
    write(root / path, after)
    edit = Edit.between(path, before, after)
    own = Page(path, path, after, languages.of(path), tuple(edit.ranges()))
    return [file.relative_to(root).as_posix() for file, _ in elsewhere.others(Workspace(root), edit, own)]


def test_the_nearest_files_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("z.py", "b/a/z.py", "b/c/d.py", "b/b.py", "b/c/e/f.py", "c/c.py"):
        write(tmp_path / name, "load()\n")
    found = looked_at(tmp_path, "b/c/own.py")
    assert found == ["b/c/d.py", "b/c/e/f.py", "b/b.py", "b/a/z.py", "z.py", "c/c.py"]
    monkeypatch.setattr(elsewhere, "MAX_FILES", 2)
    assert looked_at(tmp_path, "b/c/own.py") == found[:2]


@pytest.mark.parametrize("path", ["cart.py", "shop/cart/__init__.py", "shop/cart/index.ts"])
def test_files_that_name_the_module_before_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    for number in range(3):
        write(tmp_path / Path(path).parent / f"a{number}.py", "text.load()\n")
    write(tmp_path / "z" / "z.py", "from cart import load\n")
    monkeypatch.setattr(elsewhere, "MAX_FILES", 2)
    found = looked_at(tmp_path, path)
    assert found[0] == "z/z.py"
    assert len(found) == 2


def test_a_name_is_a_whole_word(tmp_path: Path) -> None:
    write(tmp_path / "a.py", "reload()\nloads()\n")
    write(tmp_path / "b.py", "a.load()\n")
    assert looked_at(tmp_path, "own.py") == ["b.py"]
