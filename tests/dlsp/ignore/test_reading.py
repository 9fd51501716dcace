"""What a folder offers is read if it is a short regular file in it, and never waited for."""

import os
import socket
import sys
import threading
from pathlib import Path

import pytest

from dlsp.ignore.reading import TooLarge, read

posix = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and devices")


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100)
    assert read(tmp_path / "a", 100, tmp_path) == b"x" * 100
    with pytest.raises(TooLarge):
        read(tmp_path / "a", 99, tmp_path)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "b", 99, tmp_path)


@posix
@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["zero", "stdin", "out", "folder", "pipe", "socket", "link to pipe", "loop"])
def test_what_is_no_file_of_the_folder(tmp_path: Path, kind: str) -> None:
    folder, file = tmp_path / "folder", tmp_path / "folder" / "file"
    folder.mkdir()
    (tmp_path / "outside").write_text("x")
    if kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "socket":
        made = socket.socket(socket.AF_UNIX)
        here = Path.cwd()
        os.chdir(folder)  # the path of a socket is short
        made.bind("file")
        os.chdir(here)
        made.close()
    elif kind == "link to pipe":
        os.mkfifo(folder / "pipe")
        os.symlink("pipe", file)
    else:
        targets = {"zero": "/dev/zero", "stdin": "/dev/stdin", "out": tmp_path / "outside", "loop": file}
        os.symlink(targets[kind], file)
    with pytest.raises(OSError):  # noqa: PT011  # which one depends on the kind
        read(file, 1000, folder)


@posix
def test_links_inside_the_folder_and_those_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "a").write_text("a")
    os.symlink("../a", tmp_path / "folder" / "inner" / "b")
    assert read(tmp_path / "folder" / "inner" / "b", 9, tmp_path / "folder") == b"a"
    os.symlink(tmp_path / "folder" / "a", tmp_path / "mine")
    assert read(tmp_path / "mine", 9, None) == b"a"
    with pytest.raises(OSError, match="regular"):
        read(Path("/dev/zero"), 9, None)


@posix
def test_a_file_that_becomes_a_link_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look and the opening."""
    (tmp_path / "a").write_text("a")
    lstat = os.lstat

    def slow(path: Path) -> os.stat_result:
        state = lstat(path)
        if Path(path) == tmp_path / "a":
            (tmp_path / "a").unlink()
            os.symlink("/dev/zero", tmp_path / "a")
        return state

    monkeypatch.setattr("dlsp.ignore.reading.os.lstat", slow)
    with pytest.raises(OSError):  # noqa: PT011
        read(tmp_path / "a", 1000, tmp_path)


def test_a_system_without_these_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlsp.ignore.reading._FLAGS", os.O_RDONLY | getattr(os, "O_BINARY", 0))
    (tmp_path / "a").write_bytes(b"a\r\n")
    assert read(tmp_path / "a", 9, tmp_path) == b"a\r\n"


def test_a_file_that_grows_while_it_is_read(tmp_path: Path) -> None:
    """It ends all the same."""
    file, stop = tmp_path / "log", threading.Event()
    file.write_bytes(b"x")

    def grow() -> None:
        with file.open("ab") as stream:
            while not stop.is_set() and stream.tell() < 50_000_000:
                stream.write(b"x" * 10_000)

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        for _ in range(100):
            try:
                assert len(read(file, 100_000, tmp_path)) <= 100_000
            except TooLarge:
                break
    finally:
        stop.set()
        writer.join()
