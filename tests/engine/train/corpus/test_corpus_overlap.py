import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dlsp_engine.train.corpus.overlap import Overlap
from dlsp_engine.train.corpus.words import words

SOLUTION = "def largest(numbers):\n    best = numbers[0]\n    for one in numbers:\n        best = max(best, one)\n"
HEAD, GAP, TAIL = SOLUTION[:42], SOLUTION[42:71], SOLUTION[71:]
TEST = "assert largest([1, 2, 3, 4, 5]) == 5\nassert largest([9, 8, 7, 6]) == 9\n"

ROWS: dict[str, dict[str, Any]] = {
    "whole functions": {"prompt": HEAD, "canonical_solution": GAP + TAIL, "test": TEST},
    "gaps": {"prompt": HEAD, "canonical_solution": GAP, "suffix": TAIL, "test": TEST},
    "gaps of several languages": {"prefix": HEAD, "canonical": GAP, "suffix": TAIL, "test": TEST},
    "gaps judged by output": {"prefix": HEAD, "canonical": GAP, "suffix": TAIL, "io": []},
    "gaps in a template": {"eval_prompt": HEAD + "{{completion}}" + TAIL, "ground_truth": GAP},
    "edits": {"window_before": "nothing like it", "window_after": SOLUTION},
}


def overlap(folder: Path, row: dict[str, Any], name: str = "set.jsonl.gz") -> Overlap:
    with gzip.open(folder / name, "wt") as file:
        file.write(json.dumps(row) + "\n")
    return Overlap(folder)


@pytest.mark.parametrize("form", ROWS)
def test_the_program_of_a_row_is_known_whatever_the_form_of_its_set(tmp_path: Path, form: str) -> None:
    known = overlap(tmp_path, ROWS[form])
    assert known.shared(words("import math\n\n" + SOLUTION)) >= 5
    assert not known.shared(words("def smallest(values):\n    return sorted(values)[0] if values else None\n" * 3))


@pytest.mark.parametrize("form", [form for form, row in ROWS.items() if "test" in row])
def test_tests_of_a_row_are_known(tmp_path: Path, form: str) -> None:
    assert overlap(tmp_path, ROWS[form]).shared(words(TEST))


def test_sets_for_training_are_no_evaluation_sets(tmp_path: Path) -> None:
    overlap(tmp_path, {"window_before": "unrelated words of another set " * 3, "window_after": ""})
    known = overlap(tmp_path, ROWS["edits"], "train.jsonl.gz")
    assert not known.shared(words(SOLUTION))
