"""Finding and reading the evaluation sets."""

import pytest

from bench.quality import sandbox, sets
from bench.quality.score import program
from bench.quality.sets import SETS, Missing, Task, load
from bench.quality.tools import Program

ROW = {
    "task_id": "SingleLineInfilling/HumanEval/7/L0",
    "entry_point": "f",
    "prompt": "def f():\n",
    "suffix": "",
    "canonical_solution": "    return 1\n",
    "test": "",
}


SINGLE = SETS["single-line"].files[0]


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


CUT = {
    "id": "cpp/7/line/0-1",
    "lang": "cpp",
    "path": "solution.cpp",
    "prefix": "int f() {\n",
    "suffix": "\n}\n",
    "canonical": "    return 1;",
}


def test_gaps_in_other_languages_bring_their_test_or_their_cases(write_set):
    for file in SETS["languages-line"].files:
        write_set(file, [CUT | {"test": "int main() {}"}] * 3)
    line = load("languages-line", limit=1)[0]
    assert (line.language, line.path, line.problem) == ("cpp", "solution.cpp", "7")
    assert len(load("languages-line", limit=1)) == len(SETS["languages-line"].files), "the limit is of each file"
    assert load("languages-line", languages=["rust"]) == []
    assert SETS["languages-line"].text(line, "    return 1;") == "    return 1;", (
        "the suffix begins with the line break"
    )
    assert program(line, line.canonical) == Program("int f() {\n    return 1;\n}\n", "cpp", "int main() {}")
    for file in SETS["safim-languages"].files:
        write_set(file, [CUT | {"prefix": "Solve it.\nint f() {\n", "skip": 10, "io": [["1", ["2", "3"]]]}])
    block = load("safim-languages")[0]
    assert block.prefix.startswith("Solve it.")
    assert program(block, "x").source == "int f() {\nx\n}\n", "the description is no part of the program"
    assert program(block, "x").cases == (("1", ("2", "3")),)


def test_the_gap_of_a_line_is_the_whole_line():
    task = Task("t/0", "f", "x = max(", ")\n", "1, 2", "")
    assert SETS["single-line"].text(task, "    return 1") == "    return 1\n"
    assert SETS["random-span"].text(task, "1, 2)\n") == "1, 2", "what stands after the gap is not repeated"


def test_a_gap_of_several_lines_keeps_the_line_break_that_no_answer_has():
    """Trimmed as before the next line's text, an answer was cut to its first line, and that text stood behind it."""
    loop = "    while n:\n        n -= 1"
    task = Task("t/0", "f", "def f(n):\n", "    return n\n", f"{loop}\n", "")
    assert SETS["multi-line"].text(task, loop) == f"{loop}\n"
    compile(program(task, SETS["multi-line"].text(task, loop)).source, "program", "exec")


def test_what_is_missing_is_said_in_one_sentence(write_set, monkeypatch):
    folder = write_set(SINGLE, [ROW]).parent
    with pytest.raises(Missing, match=r"is missing: get it from https://github\.com/openai/human-eval"):
        load("multi-line")
    (folder.parent / SETS["multi-line"].files[0]).write_bytes(b"no archive")
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
    assert "Description" not in program(block, "pass").source
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
    assert sandbox.run(program(block, text).source).why == why
