"""The parts of `make prove`: each long test is in exactly one, and what fails is said at the end."""

import json
import subprocess
from pathlib import Path

import pytest

from bench import results
from tests import prove

ROOT = Path(__file__).parents[1]


def test_each_long_test_runs_in_one_part():
    marked = [file for file in (ROOT / "tests").rglob("test_*.py") if "pytest.mark.prove" in file.read_text("utf-8")]
    commands = [command for _, commands in prove.PARTS.values() for command in commands]
    paths = [ROOT / path for module, *rest in commands if module == "pytest" for path in rest[2:]]
    marked.remove(Path(__file__))
    assert len(marked) > 5
    assert {str(file): sum(file.is_relative_to(path) for path in paths) for file in marked} == {
        str(file): 1 for file in marked
    }


def test_a_part_that_failed_is_named_and_the_rest_runs(monkeypatch: pytest.MonkeyPatch, capsys):
    ran = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append(command[2])
        return subprocess.CompletedProcess(command, int(command[2] == "pytest"))

    monkeypatch.setattr(subprocess, "run", run)
    assert prove.main([]) == 1
    assert ran == [command[0] for _, commands in prove.PARTS.values() for command in commands]
    said = capsys.readouterr().err
    assert "FAILED: pytest -m prove tests/faults" in said
    assert prove.main(["identity"]) == 0


def test_what_the_tests_of_a_file_recorded_is_its_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """By a real pytest, on a file of tests with one that fails."""
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    file = tmp_path / "test_sums.py"
    file.write_text(
        "import pytest\n@pytest.mark.parametrize('number', [1, 2])\n"
        "def test_sum(number, record_property):\n    record_property('sum_ms', number / 4)\n    assert number == 1\n"
    )
    assert prove.main([str(file)]) == 1
    (written,) = tmp_path.glob("prove-sums-*.json")
    found = json.loads(written.read_text())
    metrics = {"tests": 2, "passed": 1, "failure": 1, "error": 0, "skipped": 0, "sum_ms/max": 0.5}
    assert {name: found["metrics"][name] for name in metrics} == metrics
    assert [(each["test"], each["outcome"], each["sum_ms"]) for each in found["samples"]] == [
        ("test_sum[1]", "passed", 0.25),
        ("test_sum[2]", "failure", 0.5),
    ]


def test_an_unknown_part_is_answered_by_the_list(capsys):
    assert prove.main(["nonsense"]) == 2
    said = capsys.readouterr().err
    assert "no part nonsense" in said
    assert all(f"  {part}: " in said for part in prove.PARTS)
