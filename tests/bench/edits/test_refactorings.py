"""Refactorings that are made up: the same at every call, each with places that have to follow."""

from pathlib import Path

import pytest

from bench.edits.rows import MADE, load
from bench.evals import Missing
from dlsp.edits.history.hunks import applied
from tests.engine.train.conftest import write_corpus


def test_the_first_place_is_the_users_and_the_others_follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLSP_CORPUS_DIR", str(write_corpus(tmp_path / "corpus")))
    rows = load(MADE)
    assert rows == load(MADE)
    assert rows
    for row in rows:
        assert row.path.startswith("p3/"), "the package that is held out"
        assert row.wanted
        assert not any(hunk.start < row.page.edited[0][0] for hunk in row.wanted)
        whole = applied(row.page.lines, row.wanted)
        assert "".join(whole) == "".join(applied(row.edit.before, row.hunks))


def test_a_corpus_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DLSP_CORPUS_DIR", raising=False)
    with pytest.raises(Missing, match="DLSP_CORPUS_DIR"):
        load(MADE)
