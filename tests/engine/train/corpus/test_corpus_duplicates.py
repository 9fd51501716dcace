import gzip
import json
import random
from pathlib import Path

import pytest

from dlsp_engine.errors import EngineError
from dlsp_engine.train.corpus.duplicates import Duplicates
from dlsp_engine.train.corpus.overlap import Overlap
from dlsp_engine.train.corpus.words import grams, words


def sentence(seed: int, length: int = 200) -> list[str]:
    chance = random.Random(seed)
    return [f"word{chance.randrange(1000)}" for _ in range(length)]


def test_exact_and_near_duplicates_are_seen_and_others_are_not() -> None:
    duplicates = Duplicates()
    first = sentence(1)
    near = [*first[:100], "changed", *first[101:]]
    far = first[:60] + sentence(2, 140)
    assert not duplicates.seen(words(" ".join(first)))
    assert duplicates.seen(words("# " + "\n# ".join(sentence(99)) + "\n" + " ".join(first)))
    assert duplicates.seen(words(" ".join(near)))
    assert not duplicates.seen(words(" ".join(far)))
    assert not any(duplicates.seen(words(" ".join(sentence(seed)))) for seed in range(3, 40))


def test_half_of_a_file_may_stand_in_another() -> None:
    for seed in range(20):
        duplicates = Duplicates()
        text = sentence(seed)
        assert not duplicates.seen(words(" ".join(text)))
        assert not duplicates.seen(words(" ".join([*text[:130], *sentence(seed + 100, 70)])))


def test_few_words_and_none() -> None:
    duplicates = Duplicates()
    assert not duplicates.seen(words("import this"))
    assert duplicates.seen(words("import this"))
    assert not duplicates.seen(words("import that"))
    assert len(grams(words("a b"), 3)) == 0


def write(path: Path, row: dict[str, str]) -> None:
    with gzip.open(path, "wt") as file:
        file.write(json.dumps(row) + "\n")


def test_overlap_counts_runs_of_ten_words(tmp_path: Path) -> None:
    secret = sentence(1, 30)
    write(
        tmp_path / "infill.jsonl.gz",
        {"prompt": " ".join(secret[:15]) + " ", "canonical_solution": " ".join(secret[15:])},
    )
    write(tmp_path / "edits.jsonl.gz", {"window_before": " ".join(sentence(2)), "window_after": "x"})
    write(tmp_path / "edits-train.jsonl.gz", {"window_before": " ".join(sentence(3)), "window_after": "x"})
    overlap = Overlap(tmp_path)
    assert overlap.shared(words(" ".join(["before", *secret[10:20], "after"]))) == 1
    assert overlap.shared(words(" ".join(["before", *secret[10:19], "after"]))) == 0
    assert overlap.shared(words(" ".join(sentence(2)))) == 191
    assert overlap.shared(words(" ".join(sentence(3)))) == 0
    assert overlap.shared(words("")) == 0


def test_a_folder_without_evaluation_sets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="DLSP_EVAL_DIR"):
        Overlap(tmp_path)
