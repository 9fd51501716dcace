"""The command line as a user sees it: what it prints, and where, and its exit status."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from dlsp import __version__, cli
from dlsp.cli import complete
from dlsp.engine.client import Engine
from dlsp.errors import UserError
from dlsp.models.catalogue import CATALOGUE
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
    assert shown.out == (
        "1 │ def add(a, b):\n"
        "2 │     return («a + b»)\n"
        "3 │ \n"
        "verified, split · 7 tokens in 4 forwards, tau 1.75 · 203 ms (queue 0, prefill 61, decode 142)\n"
    )
    gap = {"prefix": "def add(a, b):\n    return (", "suffix": ")\n", "path": "sum.py"}
    assert stub.requests == [{"gaps": [gap], "mode": "verified", "schedule": "split", "end": "line", "max_tokens": 64}]


def test_complete_as_json(stub: StubEngine, file: Path, capsys: Output) -> None:
    options = ["--mode", "diffusion", "--schedule", "merged", "--end", "body", "--json"]
    assert cli.main(["complete", f"{file}:2:13", *options]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "file": str(file),
        "line": 2,
        "column": 13,
        "text": "a + b",
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


def test_engine_commands(stub: StubEngine, capsys: Output) -> None:
    assert cli.main(["engine", "start"]) == 0
    assert "runs as process" in capsys.readouterr().out
    assert cli.main(["engine", "status"]) == 0
    shown = capsys.readouterr().out
    assert "model     qwen2.5-coder-0.5b\n" in shown
    assert "uptime    1:01:01\n" in shown
    assert cli.main(["engine", "stop"]) == 0
    assert "has ended" in capsys.readouterr().out
    assert cli.main(["engine", "stop"]) == 0
    assert "No engine" in capsys.readouterr().out
    assert cli.main(["engine", "status"]) == 1
    assert capsys.readouterr().out == "No engine is running.\n"


def test_without_a_model_all_engines_are_meant(
    stub: StubEngine, state_folder: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.dlsp.stub_engine.MODEL", "qwen2.5-coder-1.5b")
    with StubEngine(state_folder):
        assert cli.main(["engine", "status"]) == 0
        shown = capsys.readouterr().out
        assert [line.split()[1] for line in shown.splitlines() if line.startswith("address")] == [
            f"http://127.0.0.1:{json.loads((state_folder / f'engine-{model.name}.json').read_text())['address'][17:]}"
            for model in CATALOGUE
        ]
        assert cli.main(["engine", "status", "--model", "1.5b"]) == 0
        assert capsys.readouterr().out.count("address") == 1
        assert cli.main(["engine", "stop"]) == 0
        assert capsys.readouterr().out == "".join(f"The engine of {model.name} has ended.\n" for model in CATALOGUE)


def test_an_engine_that_loads_keeps_no_other_from_its_end(
    stub: StubEngine, state_folder: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlsp.cli.engine.CATALOGUE", CATALOGUE[::-1])
    with FileLock(state_folder / f"engine-{CATALOGUE[1].name}.lock"):
        assert cli.main(["engine", "stop"]) == 1
        shown = capsys.readouterr()
        assert shown.out == f"The engine of {CATALOGUE[0].name} has ended.\n"
        assert "is still loading" in shown.err


def test_ended_is_said_when_the_process_has(state_folder: Path, capsys: Output) -> None:
    code = f"import sys, time; sys.argv = ['stub', '--state', {str(state_folder)!r}]; "
    code += "from tests.dlsp import stub_engine; stub_engine.main(); time.sleep(1)"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as process:
        while cli.main(["engine", "status"]) != 0:
            assert process.poll() is None
        capsys.readouterr()
        assert cli.main(["engine", "stop"]) == 0
        assert "has ended" in capsys.readouterr().out
        assert process.poll() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="processes are ended at once there")
def test_the_engine_in_the_foreground_ends_with_its_command(state_folder: Path) -> None:
    code = "import sys; from dlsp import cli; from dlsp.engine import launch; "
    code += "launch.serve_command = lambda model: [sys.executable, '-c', 'import time; print(1, flush=True); "
    code += "time.sleep(60)']; cli.main(['engine', 'run'])"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout
        assert command.stdout.readline() == "1\n"
        command.terminate()
        assert command.wait(10) == 0
        assert command.stdout.read() == "", "the engine would still hold the pipe"


def test_days_are_no_hours(stub: StubEngine, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    health = Engine.health

    async def old(engine: Engine, timeout: float = 2) -> dict[str, Any]:
        return await health(engine, timeout) | {"uptime_s": 90061.5}

    monkeypatch.setattr(Engine, "health", old)
    for command in (["status"], ["engine", "status"]):
        assert cli.main(command) == 0
        assert "1 day, 1:01:01" in capsys.readouterr().out


def test_no_engine_runs_where_there_is_no_folder_for_its_state(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DLSP_STATE_DIR", str(tmp_path / "file"))
    assert cli.main(["status"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("cannot be made") == 1


def test_an_unknown_model(capsys: Output) -> None:
    assert cli.main(["engine", "status", "--model", "gpt-9"]) == 1
    assert "There is no model 'gpt-9'" in capsys.readouterr().err


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
