"""The settings of context, as the server reads them."""

import json
from pathlib import Path

import pytest

from dlsp.context.budget import LEAST, MOST, TOKENS, usual
from dlsp.server.settings import Settings, settings


def test_what_one_layer_excludes_none_lets_in() -> None:
    made, complaints = settings([{"ignore": ["a/"]}, {"ignore": []}, {"ignore": ["*.sql"]}])
    assert made.ignore == ("a/", "*.sql")
    assert complaints == []


def test_the_budget_has_bounds() -> None:
    assert [settings([{"context": asked}])[0].context for asked in (1, 4096, 10**9)] == [LEAST, 4096, MOST]


@pytest.mark.parametrize(("step_ms", "budget"), [(260.0, TOKENS), (50.0, 2048), (5.0, 4096)])
def test_the_usual_budget_follows_the_machine(tmp_path: Path, step_ms: float, budget: int) -> None:
    costs = tmp_path / "costs.json"
    slow = {"costs": {"rows": [1, 128], "milliseconds": [900.0, 900.0]}}
    costs.write_text(json.dumps({"a": slow, "b": {"costs": {"rows": [1, 128], "milliseconds": [1.0, step_ms]}}}))
    assert usual(costs) == budget


def test_the_usual_budget_until_anything_was_measured(tmp_path: Path) -> None:
    assert usual(tmp_path / "none.json") == TOKENS
    (tmp_path / "spoilt.json").write_text("[3]")
    assert usual(tmp_path / "spoilt.json") == TOKENS


@pytest.mark.parametrize(
    ("given", "language", "mode"),
    [
        (None, "python", "auto"),
        ("manual", "python", "manual"),
        ({"markdown": "off", "*": "eager"}, "markdown", "off"),
        ({"markdown": "off", "*": "eager"}, "python", "eager"),
        ({"markdown": "off"}, "python", "auto"),
    ],
)
def test_how_suggestions_come(given: object, language: str, mode: str) -> None:
    made, complaints = settings([{"suggest": given}])
    assert made.suggests(language) == mode
    assert complaints == []


def test_values_that_make_no_sense() -> None:
    for wrong in (
        {"ignore": "a.py"},
        {"ignore": [1]},
        {"context": "much"},
        {"context": True},
        {"suggest": "loud"},
        {"suggest": 3},
    ):
        made, complaints = settings([wrong])
        assert made == Settings()
        assert len(complaints) == 1
