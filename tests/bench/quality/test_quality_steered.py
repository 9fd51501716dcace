"""Steered fills: each value of the setting has its constraint, and none changes nothing."""

from dataclasses import fields

from bench.quality.fills import key
from bench.quality.sets import Task
from bench.quality.steered import Steered, fill_steered
from dlsp.settings.schema import STEERS
from dlsp_engine import Gap, Options

TASK = Task("t/0", "f", "def f(items):\n    return items.", "\n", "x", "")


def test_a_fill_that_is_not_steered_is_the_engines_own(tiny):
    ((_, name, fill),) = fill_steered(tiny, [TASK], {"off": Steered(steer="off")})
    assert name == "off"
    assert fill.tokens == tiny.fill(Gap(TASK.prefix, TASK.suffix), Options()).tokens


def test_each_value_has_its_own_constraint(tiny, monkeypatch):
    asked = []
    grammars = tiny.grammars
    monkeypatch.setitem(tiny.__dict__, "grammars", lambda wanted: asked.append(wanted) or grammars(wanted))
    variants = {steer: Steered(steer=steer, max_tokens=4) for steer in STEERS}
    assert [name for _, name, _ in fill_steered(tiny, [TASK, TASK], variants)] == [*STEERS, *STEERS]
    assert {tuple(sorted(wanted)) for wanted in asked} == {
        ("identifiers",),
        ("balanced",),
        ("balanced", "identifiers"),
    }
    assert all("items" in wanted["identifiers"] for wanted in asked if "identifiers" in wanted)


def test_steered_fills_are_kept_apart():
    plain = {each.name: getattr(Steered(), each.name) for each in fields(Options)}
    assert key(TASK, Steered(steer="both")) != key(TASK, Options(**plain))
