"""The command line as a user sees it: what it prints, and where, and its exit status."""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dlsp import __version__, cli
from dlsp.cli import complete
from dlsp.errors import UserError
from tests.dlsp.stub_engine import COST, StubEngine

Output = pytest.CaptureFixture[str]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sum.py"
    path.write_text("def add(a, b):\n    return ()\n")
    return path


def test_complete(stub: StubEngine, file: Path, capsys: Output) -> None:
    stub.answer = lambda request: "a + b)"
    assert cli.main(["complete", f"{file}:2:13"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert re.fullmatch("1 │ def add\\(a, b\\):\n2 │     return \\(«a \\+ b\\)»\n3 │ \n\\d+\\.\\d s\n", shown.out)
    assert cli.main(["complete", f"{file}:2:13", "--verbose"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "verified, split · 7 tokens in 4 forwards, tau 1.75 · 203 ms (queue 0, prefill 61, decode 142)"
    )
    del stub.requests[1:]
    gap = {"prefix": "def add(a, b):\n    return (", "suffix": "\n", "middle": "", "path": "sum.py"}
    assert stub.requests == [{"gaps": [gap], "mode": "verified", "schedule": "split", "end": "line", "max_tokens": 64}]


def test_complete_as_json(stub: StubEngine, file: Path, capsys: Output) -> None:
    options = ["--mode", "diffusion", "--schedule", "merged", "--end", "body", "--json"]
    assert cli.main(["complete", f"{file}:2:13", *options]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "file": str(file),
        "line": 2,
        "column": 13,
        "text": "a + b",
        "replaced": 0,
        "quiet": None,
        "mode": "diffusion",
        "schedule": "merged",
        "end": "body",
        "reason": "line",
        "cost": COST,
    }
    assert stub.requests[0]["mode"] == "diffusion"
    assert stub.requests[0]["schedule"] == "merged"
    assert stub.requests[0]["end"] == "body"


def test_complete_with_nothing_to_say(stub: StubEngine, file: Path, capsys: Output) -> None:
    stub.answer = lambda request: ")"
    assert cli.main(["complete", f"{file}:2:13"]) == 0
    assert "No suggestion: the model only repeats the text after the cursor." in capsys.readouterr().out


@pytest.mark.parametrize("name", ["nothing", "sum.py:99:1"])
def test_a_wrong_place_is_one_sentence(state_folder: Path, name: str, capsys: Output) -> None:
    assert cli.main(["complete", name]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("dlsp: ")
    assert shown.err.count("\n") == 1


def test_a_refusal_is_one_sentence(stub: StubEngine, file: Path, capsys: Output) -> None:
    stub.status, stub.raw = 400, b'{"error": "No gap was given."}'
    assert cli.main(["complete", f"{file}:1:1"]) == 1
    assert capsys.readouterr().err == "dlsp: No gap was given.\n"


def test_a_missing_model(state_folder: Path, file: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(file.parent / "empty"))
    for command in (["complete", f"{file}:1:1"], ["engine", "start"], ["engine", "run"]):
        assert cli.main(command) == 1
        assert "`dlsp model pull`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (UserError("Do this."), 1, "dlsp: Do this.\n"),
        (KeyboardInterrupt(), 130, ""),
        (ZeroDivisionError("secret"), 70, "cli-error.log"),
    ],
)
def test_errors(
    raised: BaseException,
    status: int,
    said: str,
    state_folder: Path,
    capsys: Output,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(args: argparse.Namespace) -> int:
        raise raised

    monkeypatch.setattr(complete, "run", fail)
    assert cli.main(["complete", "x:1:1"]) == status
    shown = capsys.readouterr().err
    assert said in shown
    assert "Traceback" not in shown
    if status == 70:
        assert "ZeroDivisionError: secret" in (state_folder / "cli-error.log").read_text()


def test_version() -> None:
    shown = subprocess.check_output([sys.executable, "-m", "dlsp", "--version"], text=True)
    assert shown == f"dlsp {__version__}\n"


def test_a_closed_pipe_is_no_drama(state_folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "dlsp", "engine", "status"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, env=env)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")
