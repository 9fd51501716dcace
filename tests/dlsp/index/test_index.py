import os
import sqlite3
import time
from pathlib import Path

import pytest
from filelock import FileLock

from dlsp.ignore import Rules
from dlsp.ignore.rules import MAX_FILE_BYTES
from dlsp.index import store, update
from dlsp.index.store import Store, stem
from dlsp.index.symbols import MAX_SYMBOLS, Symbol, symbols


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def index(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "index" / "a.sqlite")


def write(root: Path, name: str, text: str) -> Path:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def names(index: Store) -> set[str]:
    return {name for (name,) in index._db.execute("select name from symbols")}


def test_what_is_kept_of_a_file(root: Path) -> None:
    file = write(root, "a.py", "class A:\n    def f(self):\n        return 1\n\n\nX = 2\n")
    found = symbols(file, root)
    assert [each[:4] for each in found] == [("A", "", "class", 0), ("f", "A", "function", 1), ("X", "", "constant", 5)]
    assert found[2].text == "X = 2"
    assert symbols(write(root, "binary.py", "x = 1\0"), root) == []
    assert len(symbols(write(root, "long.py", "x = 1\n" * 3 * MAX_SYMBOLS), root)) == MAX_SYMBOLS


@pytest.mark.parametrize(
    ("name", "text", "kept"),
    [
        ("a.cs", "namespace A.B { class C { int F() { return 1; } } }\n", {("C", ""), ("F", "C")}),
        ("a.cpp", "namespace a {\nclass C {\n  int f();\n};\nint g();\n}\n", {("C", ""), ("f", "C"), ("g", "")}),
        ("a.h", "namespace a {\nclass C {\n  int f();\n};\n}\n", {("C", ""), ("f", "C")}),
        ("a.c", "struct a;\nstruct b { struct a *x; };\n", {("b", "")}),
        ("a.rs", "mod one;\npub(crate) mod two;\nfn f() {}\n", {("f", "")}),
        ("a.rb", "module A\n  class C\n    def f\n    end\n  end\nend\n", {("C", ""), ("f", "C")}),
        ("b.rb", "module A\n  def f\n  end\nend\n", {("A", ""), ("f", "A")}),
        ("a.lua", "local a = require('a')\nlocal b = 1\nit(function()\n  local c = 1\nend)\n", {("b", "")}),
        ("a.js", "const a = require('a')\nconst b = 1\nit(() => {\n  const c = 1\n})\n", {("b", "")}),
        ("a.go", "package a\n\nconst (\n\tA = 1\n)\n", {("A", "")}),
    ],
)
def test_what_tells_other_files_nothing_is_left_out(
    root: Path, name: str, text: str, kept: set[tuple[str, str]]
) -> None:
    assert {(each.name, each.parent) for each in symbols(write(root, name, text), root)} == kept


def test_the_index_follows_the_files(root: Path, index: Store) -> None:
    write(root, "a.py", "def one(): pass\n")
    write(root, "b/c.py", "def two(): pass\n")
    assert update.update(index, Rules(root))
    assert names(index) == {"one", "two"}
    assert [each.path for each in index.named("two", "python", 9)] == ["b/c.py"]
    assert index.named("two", "go", 9) == []
    write(root, "a.py", "def three(): pass  # longer\n")
    (root / "b" / "c.py").unlink()
    update.update(index, Rules(root))
    assert names(index) == {"three"}
    write(root, ".gitignore", "a.py\n")
    update.update(index, Rules(root))
    assert index.count() == (0, 0)


def test_nothing_is_read_twice(root: Path, index: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, "a.py", "def one(): pass\n")
    update.update(index, Rules(root))
    monkeypatch.setattr(update, "symbols", lambda path, root: pytest.fail(f"read {path}"))
    update.update(index, Rules(root))
    update.refresh(index, Rules(root), [root / "a.py"])


def test_a_few_changes(root: Path, index: Store) -> None:
    file = write(root, "a.py", "def one(): pass\n")
    rules = Rules(root)
    update.refresh(index, rules, [file, root / "gone.py", write(root, ".env", "A=1"), write(root, "a.txt", "text")])
    assert names(index) == {"one"}
    write(root, "new/deep/b.py", "def two(): pass\n")
    update.update(index, rules)
    (root / "new").rename(root / "moved")
    update.refresh(index, rules, [root / "new", root / "moved" / "deep" / "b.py"])
    assert [each.path for each in index.named("two", "python", 9)] == ["moved/deep/b.py"]


def test_a_pipe_is_not_waited_for(root: Path, index: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "symbols", lambda path, root: pytest.fail(f"read {path}"))
    os.mkfifo(root / "pipe.py")
    update.refresh(index, Rules(root), [root / "pipe.py"])
    update.update(index, Rules(root))


def test_files_that_vanish_while_they_are_read(root: Path, index: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        write(root, f"a{number:02}.py", f"def f{number}(): pass\n")

    def unlucky(path: Path, root: Path) -> list[store.Symbol]:
        number = int(path.stem[1:])
        if number % 3 == 0:
            path.unlink()
        elif number % 3 == 1:
            path.chmod(0) if os.getuid() else path.unlink()
        (root / f"a{number + 1:02}.py").unlink(missing_ok=True)
        return symbols(path, root)

    monkeypatch.setattr(update, "symbols", unlucky)
    assert update.update(index, Rules(root))
    monkeypatch.undo()
    assert update.update(index, Rules(root))
    assert names(index) == {f"f{file.stem[1:].lstrip('0') or 0}" for file in root.glob("*.py")}


def test_it_is_bounded(root: Path, index: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "MAX_FILES", 5)
    for number in range(9):
        write(root, f"a{number}.py", f"def f{number}(): pass\n")
    update.update(index, Rules(root))
    assert index.count()[0] == 5
    index._db.execute(f"pragma max_page_count = {index._db.execute('pragma page_count').fetchone()[0] + 4}")
    write(root, "a0.py", "".join(f"def {'long' * 20}{number}(): pass\n" for number in range(MAX_SYMBOLS)))
    update.update(index, Rules(root))  # what does not fit is left out
    assert 0 < index.count()[1] <= 5
    monkeypatch.setattr(update, "MAX_FILES", 9)
    read: list[Path] = []
    monkeypatch.setattr(
        update, "symbols", lambda path, root: read.append(path) or [Symbol("long" * 999, "", "", 0, "x" * 9999)]
    )
    update.update(index, Rules(root))
    assert len(read) <= 2  # not again and again all that is left out


def test_a_stop_in_the_middle_loses_nothing_that_was_known(root: Path, index: Store) -> None:
    for number in range(9):
        write(root, f"a{number}.py", f"def f{number}(): pass\n")
    update.update(index, Rules(root))
    left = iter([True, True])
    assert not update.update(index, Rules(root), lambda: next(left, False))
    assert index.count()[0] == 9


def test_an_index_that_is_damaged_is_made_anew(tmp_path: Path, root: Path) -> None:
    file = tmp_path / "index" / "b.sqlite"
    write(root, "a.py", "def one(): pass\n")
    first = Store.open(file)
    update.update(first, Rules(root))
    first.close()
    for damage in (b"no database at all" * 500, b""):
        file.write_bytes(damage)
        index = Store.open(file)
        update.update(index, Rules(root))
        assert names(index) == {"one"}
        index.close()
    other = sqlite3.connect(file)
    other.execute("pragma user_version = 99")
    other.commit()
    other.close()
    assert Store.read(file) is None
    assert Store.open(file).count() == (0, 0)


def test_damage_that_is_found_later_makes_it_anew_too(tmp_path: Path, root: Path) -> None:
    file = tmp_path / "index" / "b.sqlite"
    write(root, "a.py", "".join(f"def one{number}(): pass\n" for number in range(MAX_SYMBOLS)))
    with store.opened(file) as index:
        update.update(index, Rules(root))
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2] + b"x" * (len(content) // 2))
    write(root, "a.py", "def two(): pass\n")
    with pytest.raises(sqlite3.DatabaseError), store.opened(file) as index:
        update.update(index, Rules(root))
    with store.opened(file) as index:
        update.update(index, Rules(root))
        assert names(index) == {"two"}


def test_only_its_owner_may_read_it(tmp_path: Path, index: Store) -> None:
    file = tmp_path / "index" / "a.sqlite"
    assert file.stat().st_mode & 0o077 == 0
    assert file.parent.stat().st_mode & 0o077 == 0


def test_indexes_of_workspaces_not_used_for_long_are_removed(tmp_path: Path) -> None:
    for number in range(store.MAX_WORKSPACES + 3):
        file = tmp_path / f"{number}.sqlite"
        file.write_text("")
        os.utime(file, (number, number))
    store.prune(tmp_path)
    assert len(list(tmp_path.iterdir())) == store.MAX_WORKSPACES
    assert not (tmp_path / "0.sqlite").exists()


def test_what_is_left_of_them_goes_after_a_while(tmp_path: Path) -> None:
    kept = ["a.sqlite", "a.lock", "a.sqlite-wal", "made.lock"]
    for name in [*kept, "b.lock", "b.sqlite-journal"]:
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / "made.lock").touch()  # somebody may be making it
    store.prune(tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(kept)


def test_a_step_of_the_clock_takes_nobodys_lock(tmp_path: Path) -> None:
    """To a clock that was set forward by days, everything is old."""
    for name in ("held.lock", "held.sqlite-journal", "free.sqlite-journal"):
        (tmp_path / name).touch()
    with FileLock(tmp_path / "held.lock"):
        for each in tmp_path.iterdir():
            os.utime(each, (0, 0))
        store.prune(tmp_path)
        assert sorted(each.name for each in tmp_path.glob("held.*")) == ["held.lock", "held.sqlite-journal"]
    assert not (tmp_path / "free.sqlite-journal").exists()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/b.py", "b"),
        ("b.test.ts", "b"),
        ("A/B.java", "b"),
        ("a/__init__.py", "a"),
        ("a/index.ts", "a"),
        ("index.ts", "index"),
    ],
)
def test_stem(path: str, expected: str) -> None:
    assert stem(path) == expected


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.java", "a<" * 20_000),
        ("a.sh", "".join(f"<<A{number} " for number in range(20_000))),
        ("a.h", "\n" * (MAX_FILE_BYTES - 9)),
        ("a.h", " " * (MAX_FILE_BYTES - 9)),
        ("a.py", "(" * (MAX_FILE_BYTES - 9)),
    ],
)
def test_a_file_that_takes_too_long_is_read_once(root: Path, index: Store, name: str, text: str) -> None:
    write(root, name, text)
    write(root, "z.py", "def after(): pass\n")
    began = time.process_time()
    assert update.update(index, Rules(root))
    assert time.process_time() - began < 3
    assert "after" in names(index)
    assert len(index.states()) == 2, "it is noted as read"
