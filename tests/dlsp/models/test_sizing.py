"""Which size is taken, by what was measured."""

import json
from pathlib import Path

import pytest

from dlsp.models.catalogue import CATALOGUE, DEFAULT
from dlsp.models.sizing import choose

SMALL, LARGE = CATALOGUE


@pytest.fixture
def measured(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path))

    def write(chunk: float = 100, **steps: float) -> None:
        entries = {
            f"{model.stem} {dtype} AVX512": {
                "machine": {},
                "costs": {"rows": [1, 4, 128], "milliseconds": [step, step, chunk], "canvas": 0, "canvas_row": 0},
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


@pytest.fixture
def both(measured, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    for model in CATALOGUE:
        (tmp_path / "models" / model.file).touch()


pytestmark = pytest.mark.usefixtures("both")


def test_nothing_measured_takes_the_default(measured):
    assert choose().model == DEFAULT


def test_a_model_that_is_not_here_is_not_taken_but_named(measured, tmp_path: Path):
    (tmp_path / "models" / LARGE.file).unlink()
    measured(small=10)
    choice = choose()
    assert choice.model == SMALL
    assert choice.why == "using 0.5b; 1.5b would be fast enough here: `dlsp model pull 1.5b` brings it"
    measured(small=40)
    assert "pull" not in choose().why, "it would be too slow"


def test_the_one_that_is_here_is_taken(measured, tmp_path: Path):
    (tmp_path / "models" / SMALL.file).unlink()
    assert choose().model == LARGE
    measured(small=90)
    assert choose().model == LARGE
    (tmp_path / "models" / LARGE.file).unlink()
    assert choose().model == DEFAULT, "which is said to be missing"


def test_a_slow_machine_takes_the_small_one_and_says_why(measured):
    measured(small=40)
    choice = choose()
    assert choice.model == SMALL
    assert choice.why == ("using 0.5b; 1.5b would be too slow here (382 ms a line, limit 300 ms; estimated from 0.5b)")
    assert choice.estimates["0.5b"].line_ms == 40 * SMALL.steps
    assert choice.estimates["0.5b"].how == "measured"


def test_one_that_reads_a_new_place_slowly_is_not_taken(measured):
    measured(small=10, large=30, chunk=350)
    choice = choose()
    assert choice.model == SMALL
    assert choice.why == (
        "using 0.5b, though it is slow here (1.4 s to read a file, limit 1 s; measured); "
        "1.5b would be too slow here (1.4 s to read a file, limit 1 s; measured)"
    )


def test_a_measurement_on_a_busy_machine_does_not_condemn_a_model(measured, tmp_path: Path):
    measured(small=10, large=90)
    assert choose().model == SMALL
    file = tmp_path / "costs.json"
    entries = json.loads(file.read_text())
    next(entry for name, entry in entries.items() if name.split()[0] == LARGE.stem)["busy"] = True
    file.write_text(json.dumps(entries))
    choice = choose()
    assert choice.model == LARGE
    assert choice.estimates["1.5b"].how == "estimated from 0.5b"


def test_where_all_was_measured_on_a_busy_machine_that_is_said(measured, tmp_path: Path):
    measured(small=40, large=90)
    file = tmp_path / "costs.json"
    file.write_text(json.dumps({name: entry | {"busy": True} for name, entry in json.loads(file.read_text()).items()}))
    choice = choose()
    assert choice.model == SMALL
    assert "378 ms a line, limit 300 ms; measured while this machine was busy" in choice.why


def test_a_fast_machine_takes_the_large_one(measured):
    measured(small=10)
    assert choose().model == LARGE


def test_what_was_measured_goes_before_what_follows_from_it(measured):
    measured(small=10, large=90)
    assert choose().model == SMALL
    measured(small=30, large=30)
    assert choose().model == LARGE


def test_the_fastest_type_counts(measured):
    measured(small=10, slow=90)
    assert choose().model == LARGE


def test_an_entry_of_another_version_leaves_the_others(measured, tmp_path: Path):
    measured(small=10)
    file = tmp_path / "costs.json"
    file.write_text(json.dumps({"older": {"costs": {"rows": [1]}}, "newer": 3} | json.loads(file.read_text())))
    assert choose().model == LARGE


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a b": {"costs": {"rows": []}}}', '{"x": 3}'])
def test_a_damaged_file_is_nothing_measured(tmp_path, monkeypatch, text):
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path))
    (tmp_path / "costs.json").write_text(text)
    assert choose().model == DEFAULT
