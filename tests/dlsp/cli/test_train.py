import os
import subprocess
import sys
from pathlib import Path

import pytest

from dlsp import cli
from dlsp.cli import _common
from dlsp.cli.train import PARTS


@pytest.mark.parametrize("part", PARTS)
def test_every_part_explains_itself(part: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["train", part, "--help"]) == 0
    assert capfd.readouterr().out.startswith(f"usage: dlsp train {part} ")


def test_a_modules_error_is_the_commands(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "samples")
    assert cli.main(["train", "samples", "--corpus", "no", "--weights", "no", "--out", out]) == 1
    assert len(capfd.readouterr().err.splitlines()) == 1


def test_a_module_in_the_current_folder_is_not_taken_for_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "__init__.py").write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path)
    assert _common.run_module("json.tool", ["--help"]) == 0


def test_a_command_that_is_ended_ends_its_module(tmp_path: Path) -> None:
    (tmp_path / "sleeping.py").write_text("import time; print('here', flush=True); time.sleep(60)")
    code = "from dlsp.cli._common import run_module; raise SystemExit(run_module('sleeping', []))"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout
        assert command.stdout.readline() == "here\n"
        command.terminate()
        assert command.wait(10) != 0
        assert command.stdout.read() == "", "the module would still hold the pipe"
