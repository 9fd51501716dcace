"""Finding and reading the evaluation sets."""

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


SINGLE = f"humaneval_infilling/{SETS['single-line'].file}"


def test_a_task_is_read(write_set):
    write_set(SINGLE, [ROW])
    assert load("single-line") == [sets.Task("HumanEval/7/L0", "f", "def f():\n", "", "    return 1\n", "")]
    assert load("single-line")[0].problem == "7"


def test_a_limit_draws_by_the_seed_and_keeps_the_order(write_set):
    write_set(SINGLE, [ROW | {"task_id": f"S/HumanEval/{number:03}/L0"} for number in range(100)])
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


def test_a_gap_of_several_lines_keeps_the_line_break_that_no_answer_has():
    """Trimmed as before the next line's text, an answer was cut to its first line, and that text stood behind it."""
    loop = "    while n:\n        n -= 1"
    task = Task("t/0", "f", "def f(n):\n", "    return n\n", f"{loop}\n", "")
    assert SETS["multi-line"].text(task, loop) == f"{loop}\n"
    compile(program(task, SETS["multi-line"].text(task, loop)), "program", "exec")


def test_what_is_missing_is_said_in_one_sentence(write_set, monkeypatch):
    folder = write_set(SINGLE, [ROW]).parent
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
def block(write_set):
    write_set("safim_python/block.jsonl.gz", [BLOCK])
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
