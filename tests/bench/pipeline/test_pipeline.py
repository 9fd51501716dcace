"""The two ways from a task to its text."""

import pytest

from bench.pipeline.__main__ import compared
from bench.pipeline.ways import BODIES, FOLLOWED, asked, finished, tasks
from bench.quality.sets import Missing, Task
from tests.bench.conftest import WriteSet

TASK = Task("HumanEval/0/x", "f", "def f(a):\n    b = a + 1\n", "\n\nprint(f(1))\n", "    return b\n", "")
LONG = Task("HumanEval/1/x", "f", "import os\n" + "x = 1\n" * 4000 + "def f(a):\n    ", "\n", "", "")


@pytest.fixture
def humaneval(write_set: WriteSet) -> None:
    rows = [
        {"task_id": f"HumanEval/{n}", "prompt": f"def f{n}():\n", "entry_point": f"f{n}"}
        | {"canonical_solution": "    return 1\n", "test": ""}
        for n in range(10)
    ]
    write_set("humaneval/HumanEval.jsonl.gz", rows)


def test_bodies_are_spread_over_the_set(humaneval: None):
    assert [task.id for task in tasks(BODIES, 3)] == ["HumanEval/0", "HumanEval/3", "HumanEval/6"]


def test_the_functions_that_follow_are_seen_by_the_engine_alone(humaneval: None):
    task = tasks(FOLLOWED, 10)[9]
    raw, ours = (asked(task, FOLLOWED, way) for way in ("raw", "pipeline"))
    assert raw.prefix == ours.prefix == "def f9():\n    "
    assert raw.suffix == "\n\n\ndef f0():\n    return 1\n\n\ndef f1():\n    return 1\n"
    assert ours.suffix == ""
    assert finished(task, FOLLOWED, "pipeline", "return 9\n") == "return 9"


def test_a_gap_of_whole_lines_is_an_empty_line(write_set: WriteSet):
    row = {"task_id": "M/HumanEval/0/L0_L1", "entry_point": "f", "prompt": "def f(n):\n", "suffix": "    return n\n"}
    write_set(
        "humaneval_infilling/HumanEval-MultiLineInfilling.jsonl.gz",
        [row | {"canonical_solution": "    while n:\n        n -= 1\n", "test": ""}],
    )
    (task,) = tasks("multi-line", 1)
    assert task.suffix == "\n    return n\n"
    assert finished(task, "multi-line", "pipeline", "    while n:\n        n -= 1") == "    while n:\n        n -= 1"


def test_missing_bodies_are_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DLSP_EVAL_DIR", raising=False)
    with pytest.raises(Missing, match="DLSP_EVAL_DIR"):
        tasks(BODIES, 3)


def test_the_engine_alone_sees_all_the_pipeline_a_window():
    raw, ours = (asked(LONG, "multi-line", way) for way in ("raw", "pipeline"))
    assert raw.prefix == LONG.prefix
    assert len(ours.prefix) < len(raw.prefix) / 2
    assert ours.prefix.endswith("def f(a):\n    ")
    assert ours.end == "block"
    assert asked(LONG, BODIES, "pipeline").end == "body"


def test_the_pipeline_trims_what_repeats_the_text_that_follows():
    answer = "    return b\n\nprint(f(1))"
    assert finished(TASK, "multi-line", "raw", answer) == answer
    assert finished(TASK, "multi-line", "pipeline", answer) == "    return b"


def test_a_body_that_is_nothing_is_nothing():
    assert finished(TASK, BODIES, "pipeline", "  \n") == ""


def test_the_difference_is_of_pairs():
    metrics = compared(list("abcd"), [True, False, True, False], [True, True, True, False])
    assert (metrics["raw"], metrics["pipeline"], metrics["difference"]) == (0.5, 0.75, 25)
    assert metrics["difference_low"] == 0 < metrics["difference_high"]
