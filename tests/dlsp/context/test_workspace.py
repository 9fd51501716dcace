import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dlsp.context.workspace import Workspace, around
from dlsp.index import store
from tests.dlsp.context.conftest import Ask

STORE = {"store.py": "def lend(book, reader):\n    return book\n", "more.py": "def more_of_it(a):\n    return a\n"}
IMPORTS = "from store import lend\nfrom more import more_of_it\n"


def test_other_files_stay_while_they_serve(ask: Ask, project: Path) -> None:
    """The prompt begins with them: other files mean that everything is read again."""
    workspace = Workspace(project)
    first = ask("a.py", IMPORTS + "x = lend(▮)\n", STORE, workspace)
    workspace.recent.note("store.py", ["edited\n"] * 40, 30, edited=True)
    before = IMPORTS + "x = lend(1)\ny = 2\nz = "
    (project / "store.py").write_text("def lend(book, reader):\n    return book\n# longer now\n")
    workspace.recent = type(workspace.recent)()
    second = workspace.context(project / "a.py", before, "\n", first)
    assert second.others == first.others
    assert second.others is first.others


def test_new_names_bring_new_files(ask: Ask, project: Path) -> None:
    workspace = Workspace(project)
    first = ask("a.py", "from store import lend\nx = lend(▮)\n", STORE, workspace)
    second = workspace.context(project / "a.py", IMPORTS + "x = more_of_it(", ")\n", first)
    assert {file["path"] for file in second.files} == {"store.py", "more.py"}


def test_files_before_are_left_out_once_they_are_excluded(ask: Ask, project: Path) -> None:
    workspace = Workspace(project)
    first = ask("a.py", "from store import lend\nx = lend(▮)\n", STORE, workspace)
    assert first.files
    (project / ".dlspignore").write_text("store.py\n")
    assert workspace.context(project / "a.py", "from store import lend\nx = lend(1", ")\n", first).files == []


def test_the_index_is_read_again_after_it_was_made_anew(ask: Ask, project: Path) -> None:
    workspace = Workspace(project)
    document = "from store import lend\nx = lend(▮)\n"
    assert ask("a.py", document, STORE, workspace).files
    store.remove(store.place(project))
    before, after = document.split("▮")
    assert workspace.context(project / "a.py", before, after).files == []
    assert ask("a.py", document, STORE, workspace).files


@pytest.mark.parametrize("version", [0, 99])
def test_an_index_that_is_still_made_is_read_later(ask: Ask, project: Path, version: int) -> None:
    """It was there when it was first asked for, without its tables or with another version's."""
    file = store.place(project)
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as database:
        database.execute(f"pragma user_version = {version}")
    workspace = Workspace(project)
    before, after = "from store import lend\nx = lend(", ")\n"
    assert workspace.context(project / "a.py", before, after).files == []
    assert ask("a.py", f"{before}▮{after}", STORE, workspace).files


def test_a_file_without_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text("def lend(book): ...\n")
    workspace = Workspace(None)
    assert workspace.context(tmp_path / "a.py", "from b import lend\nlend(", ")\n").files == []
    assert workspace.excludes(tmp_path / "id_rsa")
    assert workspace.name(tmp_path / "a.py") == "a.py"


def test_the_workspace_around_a_file(project: Path) -> None:
    (project / "sub" / "deep").mkdir(parents=True)
    assert around(project / "sub" / "deep" / "a.py").root == project
    (project / "sub" / "go.mod").write_text("")
    assert around(project / "sub" / "deep" / "a.py").root == project / "sub"
