import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlsp import logfile
from dlsp.logfile import SharedFile


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("dlsp")
    before = logger.handlers[:]
    yield logger
    logger.propagate = True
    for handler in logger.handlers[:]:
        if handler not in before:
            logger.removeHandler(handler)
            handler.close()


def test_lines_and_their_tail(state_folder: Path, logger: logging.Logger) -> None:
    handler = logfile.begin()
    assert handler
    for number in range(30):
        logger.info("line %s", number)
    handler.close()
    assert [line.rpartition("] ")[2] for line in logfile.tail(2)] == ["line 28", "line 29"]


def test_one_that_is_closed_just_as_its_lines_are_written_ends(
    state_folder: Path, logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Event(threading.Event):
        def clear(self) -> None:
            if not began.is_set():
                closing.start()
                began.set()
                time.sleep(0.2)
            super().clear()

    monkeypatch.setattr(logfile.threading, "Event", Event)
    handler = logfile.begin()
    assert handler
    closing, began = threading.Thread(target=handler.close, daemon=True), threading.Event()
    logger.info("the last line")
    assert began.wait(10)
    closing.join(10)
    assert not closing.is_alive()
    assert "the last line" in logfile.tail(1)[0]


def test_it_rotates(state_folder: Path, logger: logging.Logger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logfile, "MAX_SERVER_LOG_BYTES", 2000)
    handler = logfile.begin()
    assert handler
    for number in range(500):
        logger.info("line %s", number)
    handler.close()
    files = sorted(state_folder.iterdir())
    assert [file.name for file in files] == [f"server.log{end}" for end in ("", ".1", ".2", ".3")]
    assert all(file.stat().st_size <= 2000 for file in files)
    assert "line 499" in logfile.tail(1)[0]


def test_two_servers_share_it(tmp_path: Path) -> None:
    """When one rotates, the other follows, and nothing is lost of what rotation keeps."""
    one, other = (SharedFile(tmp_path / "log", maxBytes=3000, backupCount=9, encoding="utf-8") for _ in range(2))
    for number in range(100):
        for handler in (one, other):
            handler.emit(logging.LogRecord("a", logging.INFO, "", 0, f"line {number}", None, None))
    lines = [line for file in tmp_path.iterdir() for line in file.read_text().splitlines()]
    assert sorted(lines) == sorted(f"line {number}" for number in range(100) for _ in range(2))
    assert max(file.stat().st_size for file in tmp_path.iterdir()) < 3000
    one.doRollover()
    other.emit(logging.LogRecord("a", logging.INFO, "", 0, "the last", None, None))
    assert (tmp_path / "log").read_text() == "the last\n"
    one.close()
    other.close()


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logger: object) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DLSP_STATE_DIR", str(tmp_path / "file" / "state"))
    logfile.begin()
    assert logfile.tail(3) == []


def test_a_full_disk_costs_the_line_alone(capsys: pytest.CaptureFixture[str]) -> None:
    handler = SharedFile("/dev/full", maxBytes=1000)
    handler.emit(logging.LogRecord("a", logging.INFO, "", 0, "line", None, None))
    with contextlib.suppress(OSError):
        handler.close()
    assert capsys.readouterr().err == ""


def test_who_logs_does_not_wait_for_the_disk(state_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written, waits = threading.Event(), threading.Event()

    def slow(self: object, record: object) -> None:
        waits.set()
        assert written.wait(30)

    monkeypatch.setattr(SharedFile, "emit", slow)
    handler = logfile.background_file("x.log", 1000, 1)
    assert handler
    handler.handle(logging.makeLogRecord({"msg": "line"}))  # would wait for ever in this thread
    assert waits.wait(30)
    written.set()
    handler.close()
