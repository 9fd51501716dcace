"""`dlsp doctor`, on a stub engine."""

import errno
import json
import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from filelock import FileLock

from dlsp import cli
from dlsp.cli import doctor
from dlsp.doctor import engine, machine, surroundings
from dlsp.doctor.check import Check
from dlsp.engine import state
from dlsp.models.catalogue import CATALOGUE, DEFAULT, Model
from dlsp.models.store import ModelMissing
from tests.dlsp import stub_engine
from tests.dlsp.stub_engine import StubEngine

Output = pytest.CaptureFixture[str]


@pytest.fixture
def model_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlsp.models.store.verify", lambda model: Path("/models/file.gguf"))


def test_all_is_well(stub: StubEngine, model_here: None, capsys: Output) -> None:
    kept = [{"quiet": "loading"}, {"quiet": None, "length": 5}, {"quiet": "loading", "language": "secret"}]
    stub.file.with_name("decisions.jsonl").write_text("".join(json.dumps(each) + "\n" for each in kept))
    assert cli.main(["doctor"]) == 0
    shown = capsys.readouterr().out
    lines = {line.split()[1]: line for line in shown.splitlines()}
    assert list(lines) == [
        *("versions", "machine", "memory", "disk", "state", "model"),
        *("engine", "text", "update", "adapter", "completion", "size", "quiet", "editors"),
    ]
    assert all(line.startswith("ok ") for line in lines.values())
    assert DEFAULT.sha256 in lines["model"]
    assert " to this engine goes to this machine, and it has no socket that reaches beyond it" in lines["text"]
    assert "`return a + b` in " in lines["completion"]
    assert lines["quiet"].endswith(" 1 suggestion of late; quiet because the engine is loading (2)")
    assert "secret" not in shown


@pytest.mark.parametrize(("model", "todo"), [(DEFAULT, "processor busy."), (CATALOGUE[1], "use the model 0.5b.")])
def test_a_slow_completion_fails_and_names_a_smaller_model_where_there_is_one(
    stub: StubEngine, model_here: None, capsys: Output, monkeypatch: pytest.MonkeyPatch, model: Model, todo: str
) -> None:
    monkeypatch.setattr(engine, "SLOW_MS", 0)
    stub.file.with_name(f"engine-{model.name}.json").write_text(stub.file.read_text().replace(DEFAULT.name, model.name))
    assert cli.main(["doctor", "--model", model.short]) == 1
    told = capsys.readouterr().out.splitlines()
    (at,) = [at for at, line in enumerate(told) if line.startswith("!! ")]
    assert "completion" in told[at]
    assert told[at + 1].endswith(todo)


def test_as_json_without_a_name(
    stub: StubEngine, model_here: None, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(stub.file.parent))
    monkeypatch.setattr("getpass.getuser", lambda: "alice")
    assert cli.main(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["good"] is True
    found = {check["name"]: check for check in told["checks"]}
    assert found["state"]["said"] == "~ can be written"
    assert found["completion"]["data"]["tau"] == 1.75
    assert str(stub.file.parent) not in json.dumps(told)


def test_names_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/alice")
    monkeypatch.setattr("getpass.getuser", lambda: "alice")
    check = Check("a", True, "/home/alice/x and /data/alice/y", data={"files": ["/data/alice"], "n": 3})
    assert check.as_json()["said"] == "~/x and /data/USER/y"
    assert check.as_json()["data"] == {"files": ["/data/USER"], "n": 3}


def test_what_is_wrong_says_what_to_do(
    state_folder: Path, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "empty"))
    assert cli.main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "!! model" in shown
    assert "Run `dlsp model pull`." in shown
    assert shown.count("dlsp model pull") == 1, "and not twice"
    assert [line.split()[1] for line in shown.split("!! model")[1].splitlines()[2:]] == ["size", "quiet", "editors"]


def test_what_is_in_the_weights_and_why_no_canvas_drafts_for_them() -> None:
    step = {"update": "first", "no_canvas": "canvas adapter cpu-3 was not made for the infill update first"}
    update, adapter = engine.update({"step": step}), engine.adapter({"adapter": None, "step": step})
    assert update.good
    assert "infill update first" in update.said
    assert not adapter.good
    assert adapter.said == step["no_canvas"]
    assert "mode `autoregressive`" in adapter.todo
    assert "as it was published" in engine.update({"step": {"update": ""}}).said
    assert "was made for another file" in engine.update({"step": {"no_update": "it was made for another file"}}).said
    assert engine.adapter({"adapter": "cpu-3", "step": step}).good


def test_in_which_format_a_model_writes_edits() -> None:
    (check,) = engine.edits({"step": {"writes_edits": True, "edit_format": "sweep"}})
    assert check.good
    assert "in the format sweep" in check.said
    assert engine.edits({"step": {"writes_edits": False, "edit_format": "dlsp"}}) == []


def sockets() -> Iterator[tuple[socket.socket, str | None]]:
    """Network sockets, and what is said of each: None where it stays on this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.connect(("192.0.2.1", 9))  # sends nothing
        yield out, "192.0.2.1:9"
    with socket.create_server(("0.0.0.0", 0)) as to_all:
        yield to_all, f"0.0.0.0:{to_all.getsockname()[1]}"
    with socket.create_server(("127.0.0.1", 0)) as local, socket.create_connection(local.getsockname()) as client:
        yield client, None


def test_where_text_goes_is_checked_by_the_sockets_that_are_open(stub: StubEngine) -> None:
    """The stub runs in this process, whose sockets are therefore the engine's."""
    found = state.read(DEFAULT.name)
    assert found
    assert engine.destination(found).good
    for each, beyond in sockets():
        check = engine.destination(found)
        assert (check.good, check.data["beyond"]) == (beyond is None, [beyond] if beyond else []), each
    gone = replace(found, pid=2**22 + 1)
    said = engine.destination(gone).said
    assert said == "of requests to this engine goes to this machine", "no more is said than is known"


def test_an_engine_that_cannot_start(
    state_folder: Path, model_here: None, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> Any:
        raise ModelMissing("It is not here", "pull it")

    monkeypatch.setattr("dlsp.engine.launch.serve_command", missing)
    assert cli.main(["doctor"]) == 1
    assert "!! engine     It is not here: pull it." in capsys.readouterr().out


def test_why_an_engine_did_not_start_is_in_a_report(
    state_folder: Path, model_here: None, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it is also the last line of the progress, which is no part of the report."""
    command = [sys.executable, stub_engine.__file__, "--state", str(state_folder), "--fail", "The disk is full."]
    monkeypatch.setattr("dlsp.engine.launch.serve_command", lambda *_: command)
    assert cli.main(["doctor", "--json"]) == 1
    shown = capsys.readouterr()
    assert shown.err.endswith("The disk is full.\n")
    (found,) = [check for check in json.loads(shown.out)["checks"] if check["name"] == "engine"]
    assert found["said"].startswith("The engine did not start: The disk is full. (log: ")
    assert found["todo"] == "", "the sentence has said it"


def test_a_start_is_watched(
    state_folder: Path, model_here: None, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one takes minutes."""
    command = [sys.executable, stub_engine.__file__, "--state", str(state_folder)]
    monkeypatch.setattr("dlsp.engine.launch.serve_command", lambda *_: command)
    try:
        cli.main(["doctor", "--json"])
        shown = capsys.readouterr()
        assert "loading the weights" in shown.err
        assert any(check["name"] == "completion" for check in json.loads(shown.out)["checks"])
    finally:
        cli.main(["engine", "stop"])


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLSP_CACHE_DIR", "/etc/passwd")
    assert not machine.disk(DEFAULT).good
    assert machine.disk(DEFAULT).said == "/etc/passwd cannot be written (Not a directory)."
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))

    def refused(file: Path, content: bytes) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "write_bytes", refused)
    assert "DLSP_CACHE_DIR" in machine.disk(DEFAULT).todo
    (folder := tmp_path / "cache" / "converted" / f"{DEFAULT.stem}-1").mkdir(parents=True)
    (folder / "weights.safetensors").write_text("converted")
    assert machine.disk(DEFAULT).good, "nothing is to be written any more"


def test_a_model_file_that_is_no_such_file_is_reported(
    stub: StubEngine, model_here: None, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLSP_MODEL_FILE", "/nope.gguf")
    assert cli.main(["doctor"]) == 1
    assert "DLSP_MODEL_FILE names /nope.gguf, which does not exist." in capsys.readouterr().out
    assert cli.main(["engine", "start"]) == 0
    assert "Only `dlsp model pull` reads it." in capsys.readouterr().err


def test_the_steps_costs_when_the_engine_tells_them() -> None:
    assert engine.step({}) == []
    (found,) = engine.step({"step": {"dtype": "int8", "costs": {"1": 11.2, "4": 12.6}}})
    assert found.said == "int8: 1 row 11 ms, 4 rows 13 ms"
    assert found.data["costs"]["4"] == 12.6


def test_kernels_that_had_to_be_replaced() -> None:
    told = {"dtype": "bfloat16", "device": "cuda", "costs": {}, "replaced": {"gated_swiglu": "too little memory"}}
    step, kernels = engine.step({"step": told})
    assert step.said == "bfloat16 on cuda: not measured"
    assert not kernels.good
    assert kernels.said == "these do not work here: gated_swiglu (too little memory)"


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DLSP_STATE_DIR", str(tmp_path / "file" / "state"))
    assert not machine.state_folder().good
    assert "DLSP_STATE_DIR" in machine.state_folder().todo


def test_a_model_file_that_cannot_be_read_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: object) -> str:
        raise OSError(errno.EIO, "Input/output error: run for it")

    record = {"size": DEFAULT.size, "mtime_ns": 0, "sha256": DEFAULT.sha256}
    monkeypatch.setattr("dlsp.models.store._record", lambda *_: record)
    monkeypatch.setattr("dlsp.models.store.digest", unreadable)
    found = engine.model_file(DEFAULT)
    assert found.said.endswith("cannot be read (Input/output error: run for it).")
    assert found.todo == "Make it readable."


def test_a_full_disk_and_a_small_memory(state_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "not" / "there"))
    # What the 1.5B model's weights take in bf16; in int8 they take half of it.
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=3_087_448_024 - 1))
    assert machine.disk(DEFAULT).good
    assert not machine.disk(CATALOGUE[1]).good
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=10**9, total=4 * 10**9))
    assert not machine.memory(DEFAULT).good
    assert machine.memory(DEFAULT).todo


def test_weights_on_the_disk_are_no_memory(state_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path))
    (folder := tmp_path / "converted" / f"{DEFAULT.stem}-1").mkdir(parents=True)
    with (folder / "weights.safetensors").open("wb") as file:
        file.truncate(2 * DEFAULT.size)
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=5 * 10**8, total=4 * 10**9))
    assert not machine.memory(DEFAULT).good
    with FileLock(state_folder / f"engine-{DEFAULT.name}.lock"):
        assert machine.memory(DEFAULT).good, "its engine runs, and has what it takes"


def test_an_old_neovim_needs_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    neovim = tmp_path / "nvim"
    neovim.write_text("#!/bin/sh\necho NVIM v0.10.4\n")
    neovim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert "nvim 0.10.4" in surroundings.editors().said
    assert "needs the plugin" in surroundings.editors().said
    neovim.write_text("#!/bin/sh\necho NVIM v0.12.4\n")
    assert "needs the plugin" not in surroundings.editors().said


def test_a_probe_does_not_stay(state_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: Path, content: bytes) -> int:
        file.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert "No space left" in machine.state_folder().said
    assert list(state_folder.iterdir()) == []


def test_the_last_decisions_as_json(state_folder: Path, capsys: Output) -> None:
    kept = [{"quiet": None, "length": 3}, {"quiet": "empty"}, {"quiet": "empty"}]
    (state_folder / "decisions.jsonl").write_text("".join(json.dumps(each) + "\n" for each in kept))
    assert cli.main(["doctor", "--last", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"decisions": kept[2:], "questions": 3, "reasons": {"empty": 2}}
    (state_folder / "decisions.jsonl").write_text(json.dumps(kept[0] | {"length": 1, "ms": 2}) + "\n")
    assert cli.main(["doctor", "--last"]) == 0
    shown = capsys.readouterr().out
    assert "a suggestion of 1 character from the engine" in shown
    assert "Of the last 1 question, 1 had a suggestion" in shown
    assert cli.main(["doctor", "--last", "-1"]) == 1
    assert "give a number from 0" in capsys.readouterr().err


def test_nothing_of_late_and_no_editor(state_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert surroundings.quiet().said == "no suggestion of late"
    assert surroundings.editors().said == "none that dlsp knows is on the PATH; any that speaks LSP will do"


def test_checks_of_an_engine_wait_for_a_right_file(state_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlsp.doctor.engine.model_file", lambda model: Check("model", False, "damaged", "Pull."))
    names = [check.name for check in doctor.checks(DEFAULT)]
    assert "engine" not in names
