"""Finding and reading the evaluation sets."""

import gzip
import json

import pytest

from bench.quality import sets
from bench.quality.sets import SETS, Missing, Task, load

ROW = {
    "task_id": "SingleLineInfilling/HumanEval/7/L0",
    "entry_point": "f",
    "prompt": "def f():\n",
    "suffix": "",
    "canonical_solution": "    return 1\n",
    "test": "",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DLSP_EVAL_DIR", str(tmp_path))
    (tmp_path / "humaneval_infilling").mkdir()
    return tmp_path / "humaneval_infilling"


def write(folder, rows):
    with gzip.open(folder / SETS["single-line"].file, "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def test_a_task_is_read(folder):
    write(folder, [ROW])
    assert load("single-line") == [sets.Task("HumanEval/7/L0", "f", "def f():\n", "", "    return 1\n", "")]
    assert load("single-line")[0].problem == "7"


def test_a_limit_draws_by_the_seed_and_keeps_the_order(folder):
    write(folder, [ROW | {"task_id": f"S/HumanEval/{number:03}/L0"} for number in range(100)])
    drawn = [task.id for task in load("single-line", 10, seed=1)]
    assert drawn == [task.id for task in load("single-line", 10, seed=1)]
    assert drawn == sorted(set(drawn))
    assert len(drawn) == 10
    assert drawn != [task.id for task in load("single-line", 10, seed=2)]
    assert len(load("single-line", 1000)) == 100


def test_the_gap_of_a_line_is_the_whole_line():
    task = Task("t/0", "f", "x = max(", ")\n", "1, 2", "")
    assert SETS["single-line"].text(task, "    return 1") == "    return 1\n"
    assert SETS["random-span"].text(task, "1, 2)\n") == "1, 2", "what stands after the gap is not repeated"


def test_what_is_missing_is_said_in_one_sentence(folder, monkeypatch):
    with pytest.raises(Missing, match=r"is missing: download it from https://github\.com/openai/human-eval"):
        load("multi-line")
    (folder / SETS["multi-line"].file).write_bytes(b"no archive")
    with pytest.raises(Missing, match="is damaged"):
        load("multi-line")
    monkeypatch.delenv("DLSP_EVAL_DIR")
    with pytest.raises(Missing, match="Set DLSP_EVAL_DIR to a folder that has humaneval_infilling/HumanEval-Mul"):
        load("multi-line")
