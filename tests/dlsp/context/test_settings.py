"""The settings of context, as the server reads them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dlsp.context.tokens import MAX_TOKENS, MIN_TOKENS
from dlsp.models.catalogue import CATALOGUE
from dlsp.models.sizing import CONTEXT_TOKENS, default_context
from dlsp.settings.schema import settings

SMALL, LARGE = CATALOGUE


def test_what_one_layer_excludes_none_lets_in() -> None:
    made, complaints = settings([{"ignore": ["a/"]}, {"ignore": []}, {"ignore": ["*.sql"]}])
    assert made.ignore == ("a/", "*.sql")
    assert complaints == []


def test_the_budget_has_bounds() -> None:
    assert [settings([{"context": asked}])[0].context for asked in (1, 4096, 10**9)] == [MIN_TOKENS, 4096, MAX_TOKENS]


@pytest.fixture
def chunk_ms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """The smaller model is here and takes so long for a step that reads the prompt."""
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path))

    def write(milliseconds: float) -> None:
        costs = {"rows": [4, 128], "milliseconds": [1.0, milliseconds], "canvas": 0, "canvas_row": 0}
        (tmp_path / "costs.json").write_text(json.dumps({SMALL.stem: {"costs": costs}}))

    return write


@pytest.mark.parametrize(
    ("step_ms", "small", "large"), [(5, 4096, 4096), (25, 4096, 1024), (100, 1024, 512), (160, 512, 512)]
)
def test_the_usual_budget_is_what_the_model_reads_in_good_time(
    chunk_ms: Callable[[float], None], step_ms: float, small: int, large: int
) -> None:
    chunk_ms(step_ms)
    assert [default_context(model) for model in (SMALL, LARGE)] == [small, large]
    assert settings([{"model": "1.5b"}])[0].context == large
    assert settings([{"model": "1.5b", "context": 700}])[0].context == 700


def test_no_machine_is_so_slow_that_nothing_is_read(chunk_ms: Callable[[float], None]) -> None:
    chunk_ms(10_000)
    assert default_context(LARGE) == min(CONTEXT_TOKENS)


def test_the_usual_budget_until_anything_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path))
    assert default_context(SMALL) == min(CONTEXT_TOKENS)
    (tmp_path / "costs.json").write_text("[3]")
    assert default_context(SMALL) == min(CONTEXT_TOKENS)


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
        {"context": "much"},
        {"context": True},
        {"suggest": "loud"},
        {"suggest": 3},
    ):
        made, complaints = settings([wrong])
        assert made == settings([])[0]
        assert len(complaints) == 1
