"""Rules asked from an event loop: true at once where the disk is quick, never waited for where it is not."""

import os
import threading
import time
from pathlib import Path

import pytest

from dlsp.ignore import Rules, Verdicts
from dlsp.ignore.verdicts import UNKNOWN


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("x = 1\n")
    return tmp_path


def write(file: Path, text: str) -> None:
    file.write_text(text)
    at = file.stat().st_mtime_ns
    os.utime(file, ns=(at, at + len(text) * 10**6))  # a coarse clock may not tell two writes apart


@pytest.mark.parametrize("patience_s", [None, 30])
def test_rules_that_change_count_from_then_on(root: Path, patience_s: float | None) -> None:
    verdicts = Verdicts(root, ("b.py",), patience_s)
    seen = []
    for patterns in ("", "a.py\n", "*.txt\n", "*.py\n!a.py\n", None):
        (root / ".gitignore").unlink() if patterns is None else write(root / ".gitignore", patterns)
        verdicts.doubt()
        seen.append(bool(verdicts.excludes(root / "a.py")))
        assert verdicts.excludes(root / "b.py") == "a setting excludes it"
    assert seen == [False, True, False, False, False]
    assert verdicts.excludes_source(root / "a.py") == ""
    assert verdicts.excludes_source(root / "none.py")
    verdicts.close()


def test_what_takes_long_is_excluded_until_it_is_known(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    going = threading.Event()

    class Slow(Rules):
        def excludes(self, path: Path) -> str:
            going.wait(30)
            return super().excludes(path)

    monkeypatch.setattr("dlsp.ignore.verdicts.Rules", Slow)
    verdicts = Verdicts(root, (), 0.05)
    began = time.monotonic()
    assert {verdicts.excludes(root / f"{number}.py") for number in range(100)} == {UNKNOWN}
    assert time.monotonic() - began < 2, "many questions wait no longer than one"
    going.set()
    deadline = time.monotonic() + 30
    while verdicts.excludes(root / "a.py") == UNKNOWN:
        assert time.monotonic() < deadline
    assert verdicts.excludes(root / "a.py") == ""
    going.clear()
    assert verdicts.excludes(root / "a.py") == "", "as it was the last time"
    going.set()
    verdicts.close()


def test_nothing_is_read_before_it_is_asked(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("dlsp.ignore.verdicts.Rules", no)
    Verdicts(root, (), 0.05).doubt()


def test_an_error_is_the_caller_s(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr("dlsp.ignore.verdicts.Rules", no)
    with pytest.raises(OSError, match="gone"):
        Verdicts(root, (), 30).excludes(root / "a.py")


def test_begun_early(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long is over when the first question comes."""
    made = threading.Event()

    class Slow(Rules):
        def __init__(self, *given: object) -> None:
            time.sleep(0.3)
            super().__init__(*given)  # type: ignore[arg-type]
            made.set()

    monkeypatch.setattr("dlsp.ignore.verdicts.Rules", Slow)
    verdicts = Verdicts(root, (), 10)
    verdicts.begin()
    assert made.wait(30)
    began = time.thread_time()
    assert verdicts.excludes(root / "a.py") == ""
    assert time.thread_time() - began < 0.3
