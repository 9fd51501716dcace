"""`python -m bench`, and `dlsp bench` in front of it: which parts run, at which size, and what counts as a failure."""

import subprocess
import sys
from pathlib import Path

import pytest

import bench.__main__ as command
from bench.parts import PARTS, Run
from dlsp import cli
from dlsp.cli import bench as front


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The commands that would have run, in place of running them; statuses by module in `ran.statuses`."""
    lines: list[str] = []

    def note(run: Run, arguments, environment) -> int:
        folder = environment.get("DLSP_RESULTS_DIR", "results")
        lines.append(f"{run.module} {' '.join(arguments)} > {Path(folder).name}")
        return {"bench.peers": 2, "bench.edits": 70}.get(run.module, 0)

    monkeypatch.delenv("DLSP_RESULTS_DIR", raising=False)
    monkeypatch.setattr(command, "_process", note)
    monkeypatch.setattr(command, "USUAL", tmp_path / "bench")
    monkeypatch.setattr(command, "QUICK", tmp_path / "quick")
    return lines


def test_all_runs_every_part_and_reports_last_whatever_is_lacking(ran, capsys):
    assert command.main(["all"]) == 70, "what failed comes before what is lacking"
    modules = [line.split()[0] for line in ran]
    assert set(modules) == {run.module for runs in PARTS.values() for run in runs} | {"bench.report"}
    assert modules[-1] == "bench.report"
    assert all(line.endswith("> bench") for line in ran), "larger runs have left theirs in bench/results"
    said = capsys.readouterr().err
    assert "minutes" in said
    assert all(f"python -m {line.split(' > ')[0].strip()}" in said for line in ran), "what each part took"
    assert "python -m bench.edits --limit 12 (exit status 70)" in said
    *_, lacking, failed = said.splitlines()
    assert lacking.startswith("Lacked something, as said above: python -m bench.peers --gaps 12;")
    assert failed == "Failed: python -m bench.edits --limit 12"


def test_parts_that_lack_their_data_are_no_success(monkeypatch, tmp_path, capsys):
    """Without DLSP_EVAL_DIR most parts measure nothing."""
    monkeypatch.setattr(command, "USUAL", tmp_path / "bench")
    monkeypatch.setattr(command, "_process", lambda run, *_: 2 if run.module == "bench.replay" else 0)
    assert command.main(["all"]) == 2
    said = capsys.readouterr().err
    assert said.endswith("Lacked something, as said above: python -m bench.replay --limit 3\n")


def test_all_begins_anew_and_a_part_goes_on(ran, tmp_path):
    old = tmp_path / "bench" / "kept" / "old.jsonl"
    old.parent.mkdir(parents=True)
    old.touch()
    command.main(["quality"])
    assert old.exists()
    command.main(["all"])
    assert not old.exists()


def test_quick_runs_are_smaller_and_are_written_elsewhere(ran):
    command.main(["all", "--quick"])
    assert all(line.endswith("> quick") for line in ran)
    assert not [line for line in ran if "1.5b" in line], "the large model is left out"
    assert {line.split()[0] for line in ran} == {
        *(run.module for runs in PARTS.values() for run in runs if run.quick),
        "bench.report",
    }


def test_arguments_of_a_part_go_to_its_main_module(ran):
    assert command.main(["latency", "--gaps", "3", "--model", "1.5b"]) == 2
    assert command.main(["quality", "--set", "safim"]) == 0
    assert ran == ["bench.peers --gaps 3 --model 1.5b > results", "bench.quality --set safim > results"]


def test_all_takes_no_arguments_of_a_part(capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main(["all", "--gaps", "3"])
    assert "takes no arguments of a part" in capsys.readouterr().err


def test_a_part_that_is_not_in_the_checkout_is_said_and_left_out(capsys):
    assert command._process(Run("bench.no_such_part", []), [], {}) == 0
    assert "bench.no_such_part is not part of this checkout" in capsys.readouterr().err


def test_the_front_hands_everything_over():
    done = subprocess.run([sys.executable, "-m", "dlsp", "bench", "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "{steps,latency,quality,replay,edits,report,all}" in done.stdout
    done = subprocess.run([sys.executable, "-m", "dlsp", "bench", "x"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2


def test_without_a_checkout_one_sentence_says_what_to_do(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(front, "CHECKOUT", tmp_path)
    assert cli.main(["bench", "all"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("dlsp: The benchmark is not part of the installed package: clone the repository")
    assert said.count("\n") == 1
