import json
from pathlib import Path

import pytest

from bench import results
from bench.quality.dtypes import answers, compare


def test_a_run_of_all_tasks_serves_where_there_is_none_of_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setenv("DLSP_MACHINE", "here")

    def ran(size: str, passed: int) -> None:
        samples = [{"task": "HumanEval/0/L0", "autoregressive": {"text": "a", "pass": passed}}]
        (tmp_path / f"quality-single-line-m-int8{size}-here.json").write_text(json.dumps({"samples": samples}))

    assert answers("m", "int8", 100) is None
    ran("", 1)
    assert answers("m", "int8", 100) == answers("m", "int8", None) == {"HumanEval/0/L0": {"text": "a", "pass": 1}}
    ran("-100", 0)
    assert answers("m", "int8", 100) == {"HumanEval/0/L0": {"text": "a", "pass": 0}}


def test_answers_are_compared_gap_by_gap():
    reference = {f"HumanEval/{name}/L1": {"text": name, "pass": 1} for name in "abcd"}
    other = reference | {"HumanEval/d/L1": {"text": "other", "pass": 0}}
    del other["HumanEval/a/L1"]
    found = compare(reference, other)
    assert (found["gaps"], found["identical"], found["pass"]) == (3, 2 / 3, 2 / 3)
    assert found["points_low"] < found["points"] == -100 / 3 < found["points_high"] <= 0


def test_gaps_of_one_program_are_no_witnesses_of_their_own():
    """Ten gaps of each of four programs: they say as little as one gap of each."""

    def points(gaps: int) -> dict[str, float]:
        reference = {f"HumanEval/{name}/L{gap}": {"text": "", "pass": 1} for name in "abcd" for gap in range(gaps)}
        worse = {task: {"text": "", "pass": int("/d/" not in task)} for task in reference}
        return compare(reference, worse)

    many, few = points(10), points(1)
    assert (many["points_low"], many["points_high"]) == (few["points_low"], few["points_high"])
