"""`dlsp engine` and `dlsp status`, on a stub engine."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from dlsp import cli
from dlsp.completions.accepts import Accepts
from dlsp.completions.types import SkipReason
from dlsp.engine.client import Engine
from dlsp.models.catalogue import CATALOGUE, DEFAULT, Model
from tests.dlsp.stub_engine import StubEngine

ROOT = Path(__file__).parents[3]
Output = pytest.CaptureFixture[str]


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
            json.loads((state_folder / f"engine-{model.name}.json").read_text())["address"] for model in CATALOGUE
        ]
        assert cli.main(["engine", "status", "--model", "1.5b"]) == 0
        assert capsys.readouterr().out.count("address") == 1
        assert cli.main(["engine", "stop"]) == 0
        assert capsys.readouterr().out == "".join(f"The engine of {model.short} has ended.\n" for model in CATALOGUE)


def test_an_engine_that_loads_keeps_no_other_from_its_end(
    stub: StubEngine, state_folder: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlsp.cli.engine.every", lambda: CATALOGUE[::-1])
    with FileLock(state_folder / f"engine-{CATALOGUE[1].name}.lock"):
        assert cli.main(["engine", "stop"]) == 1
        shown = capsys.readouterr()
        assert shown.out == f"The engine of {CATALOGUE[0].short} has ended.\n"
        assert "1.5b is loading and could not be ended" in shown.err, "this test holds its lock"


LOADING = """
import sys, time
from pathlib import Path
from filelock import FileLock
state = Path(sys.argv[sys.argv.index("--state") + 1])
with FileLock(state / f"engine-{sys.argv[sys.argv.index('--model') + 1]}.lock"):
    print("converting", flush=True)
    time.sleep(60)
"""


def loading(model: Model, state_folder: Path) -> list[str]:
    """The command of what holds the lock, as an engine does while it loads, and never listens."""
    options = ["--model", model.name, "--state", str(state_folder)]
    return [sys.executable, "-c", LOADING, "dlsp_engine", "serve", *options]


def test_an_engine_is_ended_while_it_loads(state_folder: Path, capsys: Output) -> None:
    with subprocess.Popen(loading(DEFAULT, state_folder), stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"converting\n"
        assert cli.main(["engine", "status"]) == 1
        assert "is loading" in capsys.readouterr().out
        assert cli.main(["engine", "stop", "--model", "1.5b"]) == 0
        assert process.poll() is None, "it is the engine of another model"
        capsys.readouterr()
        assert cli.main(["engine", "stop"]) == 0
        assert capsys.readouterr().out == "The engine of 0.5b was loading, and has ended.\n"
        assert process.poll() is not None


def test_who_is_interrupted_while_an_engine_loads_learns_that_it_goes_on(state_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    command = loading(DEFAULT, state_folder)
    # As from a terminal: tests that run in the background of a shell inherit that Ctrl-C is ignored.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import sys; from dlsp import cli; "
    code += f"from dlsp.engine import launch; launch.serve_command = lambda *_: {command}; "
    code += "sys.exit(cli.main(['complete', 'a.py:1:1']))"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stderr
        assert process.stderr.readline() == "converting\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "\ndlsp: The engine of 0.5b goes on loading; `dlsp engine stop` ends it.\n"
        assert process.wait(10) == 130
    assert cli.main(["engine", "stop"]) == 0


def test_why_an_engine_did_not_start_is_said_once(state_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    why = "There is no device 'gpu': set DLSP_DEVICE to one of auto, cpu, cuda, mps."
    command = [sys.executable, "-c", f"import sys, time; print({why!r}, flush=True); time.sleep(0.3); sys.exit(1)"]
    code = (
        f"import sys; from dlsp import cli; from dlsp.engine import launch; launch.serve_command = lambda *_: {command}"
    )
    code += "; sys.exit(cli.main(['complete', 'a.py:1:1']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 1
    assert done.stderr.count(why) == 1
    assert "The engine did not start" in done.stderr


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
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_the_engine_in_the_foreground_ends_with_its_command(state_folder: Path, name: str) -> None:
    code = "import sys; from dlsp import cli; from dlsp.engine import launch; "
    code += "launch.serve_command = lambda model: [sys.executable, '-c', 'import time; print(1, flush=True); "
    code += "time.sleep(60)']; cli.main(['engine', 'run'])"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout
        assert command.stdout.readline() == "1\n"
        command.send_signal(signal.Signals[name])
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


def test_status(stub: StubEngine, capsys: Output) -> None:
    kept = [{"language": "python", "line": 2, "length": 5, "ms": 30.0, "probability": 0.87, "memory": True}]
    kept.append({"language": "go", "quiet": "unlikely", "ms": 1.0, "probability": 0.09})
    stub.file.with_name("decisions.jsonl").write_text("".join(json.dumps(each) + "\n" for each in kept))
    accepted = Accepts()
    accepted.accepted("return x", 8)
    accepted.save()
    assert cli.main(["status"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("0.5b: idle, up 1:01:01, 2 requests, ")
    assert shown[1] == "accepted in the last 7 days: 1 suggestion, 8 characters"
    assert [line.partition(" ")[2] for line in shown[2:]] == [
        "python, line 3: a suggestion of 5 characters from cache, 87% sure, 30.0 ms",
        f"go, line 1: quiet: {SkipReason.UNLIKELY.value}, 9% sure, 1.0 ms",
    ]


def test_status_of_nothing(state_folder: Path, capsys: Output) -> None:
    assert cli.main(["status"]) == 1
    assert "No engine is running" in capsys.readouterr().out


def isolated() -> list[str]:
    """What begins a command that has no network, not even the loopback; skips where that is not allowed."""
    found = shutil.which("unshare")
    if found is None or subprocess.run([found, "-rn", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no network namespace can be made here")
    return [found, "-rn"]


def test_it_works_without_a_loopback(state_folder: Path, tmp_path: Path) -> None:
    """As in some sandboxes. Over TCP the server and the engine would not find each other, and wait."""
    (tmp_path / "a.py").write_text("x = \n")
    stub = [sys.executable, "-m", "tests.dlsp.stub_engine", "--state", str(state_folder)]
    code = f"import sys; from dlsp import cli; from dlsp.engine import launch; launch.serve_command = lambda *_: {stub}"
    code += f"; sys.exit(cli.main(['complete', {str(tmp_path / 'a.py')!r} + ':1:5', '--json']))"
    command = [*isolated(), sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    try:
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["text"]
    finally:
        assert cli.main(["engine", "stop"]) == 0
