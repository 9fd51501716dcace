"""What counts as right in a mined edit, on one small row."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import bench.edits.__main__ as command
from bench import results
from bench.edits.fit import fitted
from bench.edits.rows import Row, load
from bench.edits.score import joined, outcome, summary
from dlsp.edits.history.hunks import Hunk
from dlsp.errors import UserError
from dlsp.syntax.rehearsal import SMALL_BYTES, Outcome, Rehearsal
from tests.bench.conftest import WriteSet

BEFORE = "x = fee(1)\n\ny = fee(2)\nz = fee(3)\nlast = 1\n"
AFTER = "x = cost(1)\n\ny = cost(2)\nz = cost(3)\nlast = 1\n"


@pytest.fixture
def row(write_set: WriteSet) -> Row:
    raw = {
        "id": "r",
        "path": "a.py",
        "window_before": BEFORE,
        "window_after": AFTER,
        "hunks": [["replace", 0, 1, 0, 1], ["replace", 2, 4, 2, 4]],
        "rename": {"fee": "cost"},
    }
    write_set("edits/dev.jsonl.gz", [raw])
    (found,) = load("dev")
    return found


def test_the_first_hunk_is_the_users(row: Row) -> None:
    assert row.page.text == BEFORE.replace("fee", "cost", 1)
    assert row.wanted == {Hunk(2, 4, ("y = cost(2)\n", "z = cost(3)\n"))}
    assert row.shows_rename
    assert joined(row.renamed()) == list(row.wanted)


def test_lines_beside_each_other_are_one_hunk_and_must_all_be_right(row: Row) -> None:
    right = [Hunk(2, 3, ("y = cost(2)\n",)), Hunk(3, 4, ("z = cost(3)\n",))]
    assert outcome(row, right, [(2, 3)]).all_right
    half = outcome(row, right[:1])
    assert (half.shown, half.right, half.reached) == (1, 0, 0)
    more = outcome(row, [*right, Hunk(4, 5, ("last = 2\n",))])
    assert (more.shown, more.right) == (1, 0), "a line too many spoils the hunk it is part of"


def test_the_summary(row: Row) -> None:
    numbers = summary([outcome(row, []), outcome(row, row.renamed())])
    assert (numbers["exact"], numbers["quiet"], numbers["precision"]) == (0.5, 0.5, 1.0)


def test_a_busy_machine_changes_no_result(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the process that parses first answers too late, a text counts as plain text: not here."""
    monkeypatch.setattr(Rehearsal, "parse", lambda *_: Outcome.FAILED)
    long = replace(row, before=BEFORE + "total = fee(4)\n" * 100)
    source, other = long.page.source, long.page.new_source()
    assert source
    assert other
    assert len(long.before) > SMALL_BYTES
    assert source.update(long.page.text)
    assert other.update(long.before)


def test_missing_data_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLSP_EVAL_DIR", str(tmp_path))
    with pytest.raises(UserError, match=r"edits mined for this project.*set DLSP_EVAL_DIR"):
        load("dev")


def test_weights_follow_the_examples() -> None:
    numbers = [[1.0, 1.0]] * 30 + [[1.0, 0.0]] * 30
    always, one = fitted(numbers, [1.0] * 25 + [0.0] * 5 + [0.0] * 25 + [1.0] * 5)
    assert always < 0 < one


def test_a_smaller_run_stands_beside_the_whole_one(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file has the limit in its name, as the other benches' have; what code answered is told."""
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    monkeypatch.setattr(results, "_OWN", str(tmp_path))
    monkeypatch.setenv("DLSP_MACHINE", "desk")
    for limit in ([], ["--limit", "1"]):
        monkeypatch.setattr("sys.argv", ["edits", "--variants", "teaching", *limit])
        assert command.main() == 0
    written = sorted((tmp_path / "results").glob("*.json"))
    model = "qwen2.5-coder-0.5b-desk.json"
    assert [path.name for path in written] == [f"edits-dev-1-{model}", f"edits-dev-{model}"]
    assert json.loads(written[0].read_text())["answered_by"] == {results.commit(): 1}


def test_damaged_data_is_said(row: Row, tmp_path: Path) -> None:
    path = tmp_path / "edits" / "dev.jsonl.gz"
    whole = path.read_bytes()
    for damaged in (whole[:-9], whole[:12] + bytes([255] * 40) + whole[52:], b"no archive"):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"dev\.jsonl\.gz is damaged .* get it again from"):
            load("dev")
