"""A whole run with an engine that knows the answers: what it writes, and that it goes on where it stopped."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from bench import results
from bench.journal import Journal
from bench.quality.run import Plan, run
from bench.quality.sets import Task

TASKS = [
    Task(
        f"HumanEval/{n}/L0",
        "f",
        f"def f():\n    # {n}\n",
        "",
        f"    return {n}\n",
        f"def check(f):\n    assert f() == {n}",
    )
    for n in range(4)
]


@dataclass(frozen=True)
class Options:
    mode: str
    max_tokens: int = 64


@dataclass(frozen=True)
class Gap:
    prefix: str
    suffix: str
    path: str = ""


class Engine:
    """Autoregressive fills are right, all others are wrong for task 0. Breaks down after `lasts` fills."""

    def __init__(self, lasts: int = 1000) -> None:
        self.lasts = lasts
        self.asked: list[tuple[str, str]] = []

    def fill_many(self, gaps, variants, width=8):
        for gap_index, gap in enumerate(gaps):
            for variant_index, options in enumerate(variants):
                if len(self.asked) == self.lasts:
                    raise KeyboardInterrupt
                self.asked.append((gap.prefix, options.mode))
                number = gap.prefix.split()[-1]
                wrong = options.mode != "autoregressive" and number == "0"
                cost = SimpleNamespace(forwards=3 if options.mode == "verified" else 6, rows=9, tokens=6)
                yield (
                    gap_index,
                    variant_index,
                    SimpleNamespace(text=f"    return {9 if wrong else number}", reason="line", cost=cost),
                )


@pytest.fixture(autouse=True)
def engine_module(monkeypatch):
    module = ModuleType("dlsp_engine")
    module.Gap = Gap  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dlsp_engine", module)


@pytest.fixture
def plan(tmp_path):
    def make(*modes: str, tasks=TASKS, fresh: bool = False) -> Plan:
        return Plan(
            bench="quality-test",
            journal="quality-test",
            set="single-line",
            tasks=tasks,
            variants={mode: Options(mode) for mode in modes},  # type: ignore[arg-type]
            folder=tmp_path / "bench",
            command="python -m bench.quality",
            out=tmp_path / "out.json",
            fresh=fresh,
        )

    return make


def go(plan: Plan, engine: Any) -> Path:
    """Run with the engine; with None, loading one is an error."""
    return run(plan, lambda: engine or pytest.fail("there is nothing to fill"))


def test_the_results_have_the_floor_every_variant_and_every_task(plan, monkeypatch):
    monkeypatch.setattr(results, "commit", lambda: "abc")
    written = json.loads(go(plan("autoregressive", "verified"), Engine()).read_text())
    numbers = written["metrics"]
    assert numbers["empty/pass_at_1"] == 0
    assert numbers["autoregressive/pass_at_1"] == numbers["autoregressive/exact"] == 1
    assert numbers["verified/pass_at_1"] == numbers["verified/identical"] == 0.75
    assert numbers["verified/pass_difference"] == -25
    assert (numbers["autoregressive/tau"], numbers["verified/tau"]) == (1, 2)
    assert written["filled_by"] == {"abc": 8}
    assert "limits" in written["sandbox"]
    first, second = written["samples"][:2]
    assert first["task"] == "HumanEval/0/L0"
    assert first["verified"] | {"text": ""} == {
        "text": "", "pass": 0, "exact": 0, "similarity": 0.92, "forwards": 3, "tokens": 6,
    }  # fmt: skip
    assert first["verified"]["text"] != first["autoregressive"]["text"]
    assert second["verified"]["text"] == second["autoregressive"]["text"]


def test_a_run_that_was_stopped_goes_on_from_there(plan):
    broken = Engine(lasts=3)
    with pytest.raises(KeyboardInterrupt):
        go(plan("autoregressive", "verified"), broken)
    second = Engine()
    go(plan("autoregressive", "verified"), second)
    assert len(second.asked) == 5
    assert not set(broken.asked) & set(second.asked)


def test_a_new_variant_fills_only_itself_and_a_finished_run_loads_no_engine(plan):
    go(plan("autoregressive"), Engine())
    second = Engine()
    go(plan("autoregressive", "verified"), second)
    assert {mode for _, mode in second.asked} == {"verified"}
    go(plan("autoregressive", "verified"), None)


def test_a_fresh_run_forgets_its_own_fills_only(plan):
    go(plan("autoregressive", "verified"), Engine())
    again = Engine()
    go(plan("verified", fresh=True), again)
    assert len(again.asked) == 4
    go(plan("autoregressive", "verified"), None)


def test_a_line_that_was_left_half_written_costs_only_itself(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    journal.add("a", 1)
    journal.add("b", 2)
    text = journal.path.read_text()
    journal.path.write_text(text[:-3])
    cut = Journal(journal.path)
    assert cut.entries == {"a": 1}
    cut.add("b", 3)
    assert Journal(journal.path).entries == {"a": 1, "b": 3}
