"""Gaps cut from held-out packages, and how their fills are judged."""

import pytest

from bench.held_out import drawn, judged, main, summary
from bench.quality.fills import Filled
from bench.quality.sets import Task
from dlsp.errors import UserError
from dlsp_engine.train.corpus import shards
from dlsp_engine.train.corpus.ledger import Entry
from dlsp_engine.train.documents import Documents

TEXT = "".join(
    f"def f{n}(a, b):\n    for x in range({n}):\n        a.append(b[x], {n})\n    return a\n\n" for n in range(20)
)


@pytest.fixture
def documents(tmp_path):
    entries: list[Entry] = []
    for split in ("train", "heldout"):
        row: shards.Row = {
            "text": TEXT.replace("f1", f"{split}1"),
            "path": f"{split}/m.py",
            "package": split,
            "version": "1",
            "language": "python",
            "licence": "MIT",
            "split": split,
        }
        shard, end = shards.append(tmp_path, entries, split, [row])
        entries.append(Entry("python", "pypi", split, "1", split, shard=shard, end=end))
    return Documents(tmp_path, "heldout", 0)


def test_gaps_inside_lines_end_before_a_closing_bracket_and_are_always_the_same(documents):
    tasks = drawn(documents, "inside", 12, ["python"])
    assert len({(task.path, task.prefix) for task in tasks}) == 12
    for task in tasks:
        assert task.id.startswith("python/heldout/inside/")
        assert task.path == "heldout/m.py"
        assert task.suffix[0] in ")]}"
        assert f"{task.prefix}{task.canonical}{task.suffix}" in TEXT.replace("f1", "heldout1")
    assert drawn(documents, "inside", 12, ["python"]) == tasks


def test_too_small_a_corpus_is_named(documents):
    with pytest.raises(UserError, match="has only 0 gaps 'inside' in java"):
        drawn(documents, "inside", 1, ["java"])


TASK = Task("python/p/inside/0", "", "def f(x):\n    print(max(", "), x)\n    return x\n", "x, 1", "")


@pytest.mark.parametrize(
    ("text", "reason", "right", "ended", "well"),
    [
        ("x,1", "end", 1, 1, 1),
        ("x, 2", "end", 0, 1, 1),
        ("x, 1", "suffix", 1, 0, 0),
        ("x, (1", "end", 0, 1, 0),
        ("x), 1)\n    return x", "end", 0, 1, 0),
    ],
)
def test_a_fill_is_right_by_its_text_and_ends_well_if_the_program_may_go_on(text, reason, right, ended, well):
    found = judged(TASK, Filled(text, reason, forwards=2, tokens=6))
    assert (found["right"], found["ended"], found["ended_well"]) == (right, ended, well)


def test_shares_are_of_all_gaps_and_of_each_language():
    other = Task("go/q/inside/0", "", "", "", "", "", language="go")
    samples = [judged(TASK, Filled("x, 1", forwards=2, tokens=6)), judged(other, Filled("", "suffix", forwards=1))]
    metrics = summary([TASK, other], samples)
    assert (metrics["gaps"], metrics["ended"], metrics["ended_python"], metrics["ended_go"]) == (2, 0.5, 1, 0)
    assert metrics["tau"] == 2


def test_without_a_corpus_one_sentence_says_so(monkeypatch, capsys):
    monkeypatch.delenv("DLSP_CORPUS_DIR", raising=False)
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("Set DLSP_CORPUS_DIR to a corpus")
