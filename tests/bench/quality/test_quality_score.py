"""Scores: of small programs, and of the sets' own solutions."""

import os
from dataclasses import replace

import pytest

from bench.journal import Journal
from bench.quality import score as scoring
from bench.quality.fills import Filled
from bench.quality.metrics import compare, measure
from bench.quality.sandbox import Verdict
from bench.quality.score import Score, judge, program, score
from bench.quality.sets import CUT, SETS, Task, load
from bench.quality.tools import Program
from dlsp_engine.train.bootstrap import interval

TASK = Task("HumanEval/0/L0", "f", "def f():\n", "\n", "    return 1\n", "def check(f):\n    assert f() == 1")


def nothing() -> None: ...


def test_a_fill_is_scored_by_its_program_and_its_text(tmp_path):
    texts = ["    return 1\n", "    return 2 - 1", "    return 2", ""]
    programs = [program(TASK, text) for text in texts]
    why = judge(programs, Journal(tmp_path / "v.jsonl"), nothing)
    scores = [score(TASK, text, why[one]) for text, one in zip(texts, programs, strict=True)]
    assert [one.passed for one in scores] == [True, True, False, False]
    assert [one.exact for one in scores] == [True, False, False, False]
    assert [one.similarity for one in scores] == [1, pytest.approx(24 / 28), pytest.approx(22 / 24), 0]


def test_equal_programs_run_once_and_never_again(tmp_path, monkeypatch):
    ran = []

    def run(text):
        ran.append(text)
        return Verdict("passed")

    monkeypatch.setattr(scoring.sandbox, "run", run)
    path, a, b = tmp_path / "v.jsonl", Program("a"), Program("b")
    assert judge([a, b, a], Journal(path), nothing) == {a: "passed", b: "passed"}
    judge([a, b], Journal(path), nothing)
    assert sorted(ran) == ["a", "b"]


@pytest.mark.skipif(not os.environ.get("DLSP_EVAL_DIR"), reason="DLSP_EVAL_DIR is unset")
@pytest.mark.parametrize("name", [name for name, one in SETS.items() if one.source != CUT])
def test_canonical_solutions_pass_and_empty_ones_mostly_fail(name, tmp_path):
    tasks = load(name, limit=20)
    programs = [program(task, text) for task in tasks for text in (task.canonical, "")]
    why = judge(programs, Journal(tmp_path / "v.jsonl"), nothing)
    assert {why[program(task, task.canonical)] for task in tasks} == {"passed"}
    assert sum(why[program(task, "")] == "passed" for task in tasks) <= 3


def tasks(*problems: int) -> list[Task]:
    return [Task(f"HumanEval/{problem}/L{at}", "f", "", "", "", "") for at, problem in enumerate(problems)]


def test_metrics_are_means_and_tau_is_of_all_tokens():
    fills = [Filled("a", forwards=1, rows=1, tokens=4), Filled("b", forwards=4, rows=9, tokens=4)]
    scores = [Score(True, True, 1.0), Score(False, False, 0.5)]
    measured = measure(tasks(1, 2), fills, scores)
    low, high = measured.pop("pass_at_1_low"), measured.pop("pass_at_1_high")
    assert 0 <= low < 0.5 < high <= 1
    assert measured == {
        "pass_at_1": 0.5,
        "exact": 0.5,
        "repeats": 0,
        "breaks": 0,
        "similarity": 0.75,
        "forwards_per_gap": 2.5,
        "rows_per_gap": 5,
        "tokens_per_gap": 4,
        "ended": 1,
        "tau": 8 / 5,
    }


def test_each_of_several_languages_has_its_own_pass_rate():
    mixed = [replace(task, language=name) for task, name in zip(tasks(1, 2, 3), ("go", "go", "rust"), strict=True)]
    scores = [Score(True, True, 1.0), Score(False, False, 0.5), Score(True, True, 1.0)]
    fills = [Filled("a"), Filled("b", reason="suffix"), Filled("c", reason="line")]
    measured = measure(mixed, fills, scores)
    assert (measured["pass_at_1_go"], measured["pass_at_1_rust"], measured["ended"]) == (0.5, 1, 1 / 3)


def test_against_the_autoregressive_fills():
    base = [Filled("a"), Filled("b"), Filled("c"), Filled("d")]
    mine = [Filled("a"), Filled("b"), Filled("c"), Filled("x")]
    good, bad = Score(True, False, 0), Score(False, False, 0)
    compared = compare(mine, [good, good, good, bad], base, [good, good, good, good])
    assert compared == {"identical": 0.75, "pass_difference": -25.0}


def test_the_interval_has_the_width_of_theory_and_counts_problems_not_gaps():
    # 100 problems, half of which pass: the standard error is 0.05, the interval 1.96 of it to either side.
    passed = [problem % 2 == 0 for problem in range(100)]
    low, high = interval([str(problem) for problem in range(100)], passed)
    assert (low, high) == (pytest.approx(0.402, abs=0.02), pytest.approx(0.598, abs=0.02))
    # Every gap nine times over says nothing new.
    again = interval(
        [str(problem) for problem in range(100) for _ in range(9)],
        [one for one in passed for _ in range(9)],
    )
    assert again == (pytest.approx(low, abs=0.02), pytest.approx(high, abs=0.02))
