"""pass@1 by an engine's process, a stub in its place."""

from pathlib import Path

import pytest

from bench import pass_at_1, results
from bench.quality.sets import SETS
from tests.dlsp.stub_engine import StubEngine

ROW = {
    "entry_point": "add",
    "prompt": "def add(a, b):\n",
    "suffix": "",
    "canonical_solution": "    return a + b\n",
    "test": "def check(add):\n    assert add(1, 2) == 3\n",
}


def test_programs_that_pass_their_tests_are_counted(
    write_set, state_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(results, "kept", lambda: tmp_path / "kept" / "fills")
    (tmp_path / "kept").mkdir()
    write_set(
        SETS["single-line"].files[0],
        [
            ROW | {"task_id": f"S/HumanEval/{number}/L0", "prompt": "#\n" * number + ROW["prompt"]}
            for number in range(4)
        ],
    )
    with StubEngine(state_folder) as stub:
        stub.answer = lambda request: f"    return a {'-' if request['gaps'][0]['prefix'].startswith('#') else '+'} b"
        assert pass_at_1.main(["0.5b", "--gaps", "4"]) == 0
        assert {(each["mode"], each["end"]) for each in stub.requests} == {("verified", "line")}
    assert "pass@1         25% of 4 single lines of HumanEval-Infilling" in capsys.readouterr().out


def test_without_data_it_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("DLSP_EVAL_DIR", raising=False)
    assert pass_at_1.main(["0.5b"]) == 0
    assert "pass@1         not measured: set DLSP_EVAL_DIR to a folder" in capsys.readouterr().out
