"""Which size is taken, by what was measured."""

import json
from pathlib import Path

import pytest

from dlsp.models.catalogue import CATALOGUE, DEFAULT
from dlsp.models.choose import choose

SMALL, LARGE = CATALOGUE


@pytest.fixture
def measured(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path))

    def write(**steps: float) -> None:
        entries = {
            f"{model.file.removesuffix('.gguf')} {dtype} AVX512": {
                "machine": {},
                "costs": {"rows": [1, 4], "milliseconds": [step, step], "canvas": 0, "canvas_row": 0},
            }
            for model, dtype, step in (
                (SMALL, "int8", steps.get("small")),
                (SMALL, "bfloat16", steps.get("slow")),
                (LARGE, "int8", steps.get("large")),
            )
            if step
        }
        (tmp_path / "costs.json").write_text(json.dumps(entries))

    return write


def test_nothing_measured_takes_the_default(measured):
    assert choose().model == DEFAULT


def test_a_slow_machine_takes_the_small_one_and_says_why(measured):
    measured(small=30)
    choice = choose()
    assert choice.model == SMALL
    assert "159 ms a line (measured)" in choice.why
    assert f"{LARGE.name} would take 362 ms a line (from {SMALL.name})" in choice.why


def test_a_fast_machine_takes_the_large_one(measured):
    measured(small=10)
    assert choose().model == LARGE


def test_what_was_measured_goes_before_what_follows_from_it(measured):
    measured(small=10, large=90)
    assert choose().model == SMALL
    measured(small=30, large=50)
    assert choose().model == LARGE


def test_the_fastest_type_counts(measured):
    measured(small=10, slow=90)
    assert choose().model == LARGE


def test_the_budget_is_a_setting(measured):
    measured(small=30)
    assert choose(budget_ms=400).model == LARGE


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a b": {"costs": {"rows": []}}}', '{"x": 3}'])
def test_a_damaged_file_is_nothing_measured(tmp_path, monkeypatch, text):
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path))
    (tmp_path / "costs.json").write_text(text)
    assert choose().model == DEFAULT
