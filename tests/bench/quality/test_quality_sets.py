"""Finding and reading the evaluation sets."""

import gzip
import json

import pytest

from bench.quality import sandbox, sets
from bench.quality.score import program
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
    with pytest.raises(Missing, match=r"is missing: get it from https://github\.com/openai/human-eval"):
        load("multi-line")
    (folder / SETS["multi-line"].file).write_bytes(b"no archive")
    with pytest.raises(Missing, match="is damaged"):
        load("multi-line")
    monkeypatch.delenv("DLSP_EVAL_DIR")
    with pytest.raises(Missing, match="Set DLSP_EVAL_DIR to a folder that has humaneval_infilling/HumanEval-Mul"):
        load("multi-line")


BLOCK = {
    "task_id": "block_completion_000016",
    "prompt": "Description: print the sum.\r\n\r\nCode:\r\n\r\n"
    "a, b = map(int, input().split())\r\n# TODO: Your code here\r\n",
    "eval_prompt": "a, b = map(int, input().split())\r\n{{completion}}\r\n",
    "ground_truth": "print('Sum', a + b)",
    "unit_tests": [{"input": "1 2", "output": ["sum 3", "SUM  three"]}, {"input": "2 2", "output": ["Sum 4"]}],
}


@pytest.fixture
def block(tmp_path, monkeypatch):
    monkeypatch.setenv("DLSP_EVAL_DIR", str(tmp_path))
    (tmp_path / "safim_python").mkdir()
    with gzip.open(tmp_path / "safim_python" / "block.jsonl.gz", "wt") as file:
        file.write(json.dumps(BLOCK) + "\n")
    return load("safim")[0]


def test_a_block_is_shown_with_its_description_and_run_without(block):
    assert block.prefix == "Description: print the sum.\n\nCode:\n\na, b = map(int, input().split())\n"
    assert block.suffix == "\n"
    assert "Description" not in program(block, "pass")
    assert block.problem == BLOCK["task_id"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BLOCK["ground_truth"], "passed"),
        ("print('SUM'); print(a + b)", "passed"),
        ("import sys; sys.stdout.write(f'sum {a + b}'); sys.exit()", "passed"),
        ("print('sum', a - b)", "AssertionError"),
        ("print('sum', 3)", "AssertionError"),
        ("pass", "AssertionError"),
    ],
)
def test_a_block_passes_by_what_the_program_prints(block, text, why):
    assert sandbox.run(program(block, text)).why == why
