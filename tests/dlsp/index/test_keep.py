"""The process that keeps an index: a real one, killed and let down in real ways."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from dlsp.index import store
from dlsp.index.process import Keeper, is_workspace
from dlsp.index.store import Store

WAIT_S = 60


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def keeper(root: Path) -> Iterator[Keeper]:
    made = Keeper(root)
    yield made
    made.stop()


def write(root: Path, name: str, text: str) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def until(root: Path, true: Callable[[Store], object]) -> None:
    deadline = time.monotonic() + WAIT_S
    while True:
        index = Store.read(store.place(root))
        if index and true(index):
            return index.close()
        if index:
            index.close()
        assert time.monotonic() < deadline, "the index never said so"
        time.sleep(0.02)


def defined(name: str) -> Callable[[Store], object]:
    return lambda index: index.named(name, "python", 9)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_changes_are_followed(root: Path, keeper: Keeper) -> None:
    write(root, "a.py", "def one(): pass\n")
    until(root, defined("one"))
    write(root, "new/b.py", "def two(): pass\n")
    until(root, defined("two"))
    (root / "new").rename(root / "moved")
    until(root, lambda index: [each.path for each in index.named("two", "python", 9)] == ["moved/b.py"])
    shutil.rmtree(root / "moved")
    until(root, lambda index: not defined("two")(index))
    write(root, ".dlspignore", "a.py\n")
    until(root, lambda index: not defined("one")(index))


def test_names_that_are_no_text(root: Path) -> None:
    folder = os.fsdecode(b"caf\xe9")
    try:
        write(root, f"{folder}/{folder}.py", "def hidden(): pass\n")
    except OSError:
        pytest.skip("the file system has no such names")
    write(root, "a.py", "def one(): pass\n")
    keeper = Keeper(root)
    try:
        until(root, defined("one"))
        write(root, f"{folder}.py", "def hidden(): pass\n")
        write(root, "a.py", "def two(): pass\n")
        until(root, defined("two"))
    finally:
        keeper.stop()


def test_at_the_lowest_priority(root: Path, keeper: Keeper) -> None:
    write(root, "a.py", "def one(): pass\n")
    until(root, defined("one"))
    assert os.getpriority(os.PRIO_PROCESS, keeper.pid) == 19


def test_killed_in_the_middle(root: Path) -> None:
    for number in range(1500):
        write(root, f"p{number % 40}/a{number}.py", f"def f{number}(): pass\n" * 40)
    for _ in range(3):
        keeper = Keeper(root)
        until(root, lambda index: index.count()[0])
        time.sleep(0.2)
        os.kill(keeper.pid, signal.SIGKILL)
        keeper.stop()
    keeper = Keeper(root)
    until(root, lambda index: index.count()[0] == 1500)
    keeper.stop()
    index = Store.open(store.place(root))
    assert index._db.execute("pragma integrity_check").fetchone() == ("ok",)
    index.close()


def test_a_switch_of_branches(root: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=root, check=True, capture_output=True
        )

    for number in range(2000):
        write(root, f"p{number % 50}/a{number}.py", f"def old{number}(): pass\n")
    git("init", "-b", "one")
    git("add", ".")
    git("commit", "-m", "one")
    git("checkout", "-b", "two")
    for number in range(2000):
        if number % 4 == 0:
            (root / f"p{number % 50}" / f"a{number}.py").unlink()
        else:
            write(root, f"p{number % 50}/a{number}.py", f"def renewed{number}(): pass\n")
    git("add", "-A")
    git("commit", "-m", "two")
    git("checkout", "one")
    keeper = Keeper(root)
    try:
        until(root, lambda index: index.count() == (2000, 2000))
        git("checkout", "two")
        until(root, lambda index: index.count() == (1500, 1500) and defined("renewed1999")(index))
        git("checkout", "one")
        until(root, lambda index: index.count() == (2000, 2000) and defined("old1999")(index))
    finally:
        keeper.stop()


def test_packages_that_link_to_each_other(root: Path) -> None:
    """As in a monorepo: a watch that follows links finds twice as many folders for each package more."""
    for one in range(20):
        write(root, f"packages/p{one}/a.py", f"def f{one}(): pass\n")
        (root / "packages" / f"p{one}" / "parts").mkdir()
        for other in range(one):
            os.symlink(f"../../p{other}", root / "packages" / f"p{one}" / "parts" / f"p{other}")
    keeper = Keeper(root)
    try:
        until(root, lambda index: index.count() == (20, 20))
        write(root, "packages/p7/a.py", "def changed(): pass\n")
        until(root, defined("changed"))
    finally:
        keeper.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what is watched")
def test_nothing_is_watched_that_is_not_read(root: Path, tmp_path: Path, keeper: Keeper) -> None:
    """Watches are few, and the editor's own come from the same store."""
    for number in range(20):
        write(root, f"node_modules/m{number}/a.js", "")
        write(root, f"build/b{number}/a.py", "")
        write(tmp_path, f"outside/o{number}/a.py", "")
    os.symlink(tmp_path / "outside", root / "link")
    write(root, "src/a.py", "def one(): pass\n")
    write(root, ".dlspignore", "build\n")
    until(root, lambda index: index.count() == (1, 1))
    deadline = time.monotonic() + WAIT_S
    while watches(keeper.pid) != 2:
        assert time.monotonic() < deadline, watches(keeper.pid)
        time.sleep(0.05)


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare to set a limit with")
def test_no_more_watches_are_to_be_had(root: Path) -> None:
    """The limit is the user's, whose editors and builds watch too: then everything is looked at now and then."""
    code = (
        "import threading; from pathlib import Path; from dlsp.index import keep\n"
        f"keep.UNWATCHED_RESCAN_S = keep.PAUSE_PER_SCAN = 0.1; keep.keep(Path({str(root)!r}), (), threading.Event())"
    )
    for number in range(20):
        write(root, f"p{number}/a.py", "")
    limited = 'echo 9 > /proc/sys/user/max_inotify_watches && exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", limited, "sh", sys.executable, "-c", code]
    if subprocess.run([*command[:6], "sh", "true"], capture_output=True).returncode:
        pytest.skip("no limit can be set")
    with subprocess.Popen(command) as process:
        try:
            until(root, lambda index: index.count() == (20, 0))
            write(root, "p19/a.py", "def one(): pass\n")
            until(root, defined("one"))
        finally:
            process.kill()


def watches(pid: int) -> int:
    """How many folders a process watches."""
    descriptors = Path(f"/proc/{pid}/fdinfo").iterdir()
    return sum(line.startswith("inotify ") for each in descriptors for line in each.read_text().splitlines())


def test_a_workspace_that_is_made_anew(root: Path, keeper: Keeper) -> None:
    write(root, "a.py", "def one(): pass\n")
    until(root, defined("one"))
    shutil.rmtree(root)
    time.sleep(1)
    write(root, "a.py", "def two(): pass\n")
    until(root, defined("two"))
    write(root, "a.py", "def three(): pass\n")
    until(root, defined("three"))


def test_one_process_a_workspace(root: Path, keeper: Keeper) -> None:
    write(root, "a.py", "def one(): pass\n")
    until(root, defined("one"))
    second = Keeper(root)
    try:
        time.sleep(1)
        keeper.stop()
        write(root, "b.py", "def two(): pass\n")
        until(root, defined("two"))
    finally:
        second.stop()


def test_nothing_of_the_workspace_is_on_the_command_line(root: Path) -> None:
    """Everybody on the machine can read that."""
    write(root, "secret-customer/a.py", "def hidden(): pass\n")
    write(root, "b.py", "def shown(): pass\n")
    keeper = Keeper(root, ("secret-customer/",))
    try:
        until(root, defined("shown"))
        line = " ".join(psutil.Process(keeper.pid).cmdline())
        assert "secret-customer" not in line
        assert str(root) not in line
        assert not defined("hidden")(Store.open(store.place(root)))
    finally:
        keeper.stop()


def test_it_ends_with_its_server(root: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from dlsp.index.process import Keeper\n"
        f"print(Keeper(Path({str(root)!r})).pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        pid = int(server.stdout.readline())
        assert alive(pid)
        server.kill()
    deadline = time.monotonic() + WAIT_S
    while alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_nothing_of_the_project_is_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor starts the server in the project's folder, where a file may be named like a module that is imported."""
    write(root, "filelock.py", f"open({str(root / 'run')!r}, 'w')\nraise SystemExit(3)\n")
    write(root, "a.py", "def one(): pass\n")
    monkeypatch.chdir(root)
    keeper = Keeper(root)
    try:
        until(root, defined("one"))
    finally:
        keeper.stop()
    assert not (root / "run").exists()


def test_an_end_of_its_own_is_reported_in_the_log_and_another_process_follows(
    root: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlsp.index.process.RESTART_DELAY_S", 0.1)
    write(root, "a.py", "def one(): pass\n")
    keeper = Keeper(root)
    first = keeper.pid
    until(root, defined("one"))
    os.kill(first, signal.SIGKILL)
    write(root, "b.py", "def two(): pass\n")
    until(root, defined("two"))
    assert "the index process ended by itself (-9)" in caplog.text
    second = keeper.pid
    assert second != first
    keeper.stop()
    assert not alive(second)
    caplog.clear()
    before = threading.enumerate()
    third = Keeper(root)
    (watching,) = set(threading.enumerate()) - set(before)
    third.stop()
    watching.join(WAIT_S)
    assert not watching.is_alive()
    assert caplog.text == ""


def test_no_walk_through_a_home_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_workspace(root)
    assert not is_workspace(root / "gone")
    monkeypatch.setenv("HOME", str(root))
    assert not is_workspace(root)
    assert not is_workspace(root.parent)
    assert not is_workspace(Path("/"))
    (root.parent / "link").symlink_to(root)
    assert not is_workspace(root.parent / "link")
    monkeypatch.setenv("HOME", str(root.parent / "link"))
    assert not is_workspace(root)


def test_the_wait_for_the_next_start_is_bounded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlsp.index.process.RESTART_DELAY_S", 0.05)
    monkeypatch.setattr("dlsp.index.process.MAX_RESTART_DELAY_S", 0.1)
    keeper = Keeper(root)
    try:
        for _ in range(10):  # doubled each time, the last wait would be of 25 s
            pid, began = keeper.pid, time.monotonic()
            os.kill(pid, signal.SIGKILL)
            while keeper.pid == pid:
                assert time.monotonic() - began < 10
                time.sleep(0.01)
    finally:
        keeper.stop()


def test_after_a_healthy_while_the_wait_is_short_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlsp.index.process.RESTART_DELAY_S", 0.05)
    monkeypatch.setattr("dlsp.index.process.HEALTHY_S", 0.0)
    keeper = Keeper(root)
    try:
        for _ in range(10):
            pid, began = keeper.pid, time.monotonic()
            os.kill(pid, signal.SIGKILL)
            while keeper.pid == pid:
                assert time.monotonic() - began < 10
                time.sleep(0.01)
    finally:
        keeper.stop()
