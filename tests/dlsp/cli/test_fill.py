"""`dlsp fill`, on a stub engine."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from dlsp import cli
from dlsp.completions.body import MAX_ATTEMPTS
from tests.dlsp.stub_engine import StubEngine

Output = pytest.CaptureFixture[str]

TEXT = "def add(a, b):\r\n    ...\r\n\r\n\r\nprint(add(1, 2))  # 🙂\r\n"


@pytest.fixture
def file(tmp_path: Path, stub: StubEngine) -> Path:
    stub.answer = lambda request: "c = a + b\n    return c\n\n"
    file = tmp_path / "sum.py"
    file.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    file.chmod(0o640)
    return file


def test_a_diff_and_nothing_written(file: Path, stub: StubEngine, capsys: Output) -> None:
    before = file.read_bytes()
    assert cli.main(["fill", f"{file}:2"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "-    ..." in shown
    assert shown.index("+    c = a + b") < shown.index("+    return c")
    assert file.read_bytes() == before
    (request,) = [each for each in stub.requests if "gaps" in each]
    assert (request["end"], request["priority"]) == ("body", "filling")
    assert request["gaps"][0]["prefix"] == "def add(a, b):\n    "
    assert "seed" not in request


def test_written_as_the_file_is(file: Path, capsys: Output) -> None:
    assert cli.main(["fill", f"{file}:1", "--write"]) == 0
    assert file.read_bytes() == b"\xef\xbb\xbf" + TEXT.replace("    ...", "    c = a + b\r\n    return c").encode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [each.name for each in file.parent.iterdir() if each.name.startswith(".dlsp")] == []
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"Line 1 of {file}: 2 lines written.\n")


def test_one_line_is_one_line(file: Path, stub: StubEngine, capsys: Output) -> None:
    stub.answer = lambda request: "return a + b"
    assert cli.main(["fill", f"{file}:1", "--write"]) == 0
    assert capsys.readouterr().err == f"Line 1 of {file}: 1 line written.\n"


def test_an_alternative_as_json(file: Path, stub: StubEngine, capsys: Output) -> None:
    assert cli.main(["fill", f"{file}:1", "--seed", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["body"] == "\n    c = a + b\n    return c"
    assert told["written"] is False
    (request,) = [each for each in stub.requests if "gaps" in each]
    assert request["seed"] == 3
    assert request["temperature"] > 0


@pytest.mark.parametrize(
    ("place", "said"),
    [(":5", "in no function without a body"), (":99", "there is no line 99"), ("", "write FILE:LINE")],
)
def test_places_where_nothing_can_be_filled_in(file: Path, capsys: Output, place: str, said: str) -> None:
    assert cli.main(["fill", f"{file}{place}"]) == 1
    assert said in capsys.readouterr().err


def test_what_does_not_parse_is_not_written(file: Path, stub: StubEngine, capsys: Output) -> None:
    stub.answer = lambda request: "return ) a ("
    before = file.read_bytes()
    assert cli.main(["fill", f"{file}:1", "--write"]) == 1
    assert "does not parse" in capsys.readouterr().err
    assert file.read_bytes() == before


def test_what_was_saved_meanwhile_is_not_overwritten(file: Path, stub: StubEngine, capsys: Output) -> None:
    saved = file.read_bytes() + b"\r\nsaved = True\r\n"

    def save(request: dict[str, Any]) -> str:
        file.write_bytes(saved)
        return "return a + b"

    stub.answer = save
    assert cli.main(["fill", f"{file}:1", "--write"]) == 1
    assert "has changed meanwhile" in capsys.readouterr().err
    assert file.read_bytes() == saved


def test_a_file_that_is_read_only_stays_as_it_is(file: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_bytes()
    allowed = os.access  # which is all that root's tests can be told by
    monkeypatch.setattr(os, "access", lambda path, mode: (path, mode) != (file, os.W_OK) and allowed(path, mode))
    assert cli.main(["fill", f"{file}:1", "--write"]) == 1
    assert f"{file} is read-only: make it writable" in capsys.readouterr().err
    assert file.read_bytes() == before


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_leaves_the_file_and_nothing_else(file: Path, capsys: Output) -> None:
    before = file.read_bytes()
    assert cli.main(["fill", f"{file}:1", "--write"]) == 1
    assert "cannot be written: No space left on device." in capsys.readouterr().err
    assert file.read_bytes() == before
    assert [each.name for each in file.parent.iterdir() if each.is_file()] == ["sum.py"]


STUBS = ("pass", "...", "raise NotImplementedError('later')", "# TODO: write this", '"""Add."""\n    pass')


@pytest.mark.parametrize("stub_body", STUBS)
def test_a_stub_is_no_body(file: Path, stub: StubEngine, capsys: Output, stub_body: str) -> None:
    stub.answer = lambda request: stub_body
    before = file.read_bytes()
    assert cli.main(["fill", f"{file}:1", "--write"]) == 1
    said = capsys.readouterr().err
    assert "found no body" in said
    assert said.count("\n") == 1
    assert file.read_bytes() == before
    seeds = [each.get("seed", 0) for each in stub.requests]
    assert (seeds[0], len(set(seeds))) == (0, MAX_ATTEMPTS)


def test_after_a_stub_another_is_drawn(file: Path, stub: StubEngine, capsys: Output) -> None:
    stub.answer = lambda request: "return a + b" if request.get("seed", 0) > 2000 else "pass"
    assert cli.main(["fill", f"{file}:1", "--seed", "7", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["body"] == "\n    return a + b"
    assert [each["seed"] for each in stub.requests] == [7, 1007, 2007]
