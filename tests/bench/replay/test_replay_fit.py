"""The fit of the gate's table."""

import json
from pathlib import Path

import numpy as np
import pytest

from bench.quality.journal import Journal
from bench.replay import fit
from dlsp.gate.calibration import Model


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    """Suggestions that are right as their log-probability says; words are never right, and what is blank not shown."""
    monkeypatch.setattr("dlsp.models.store.folder", lambda: tmp_path)
    journal = Journal(tmp_path / "bench" / "replay" / "replay-fit-patient-qwen2.5-coder-0.5b.jsonl")
    rng, moments = np.random.default_rng(0), []
    for script in range(20):
        moments = []
        for _ in range(60):
            log_p, word, blank = -4 * rng.random(), rng.random() < 0.3, rng.random() < 0.2
            right = bool(rng.random() < fit.sigmoid(np.array(1 + log_p))) and not word and not blank
            features = {"log_p": log_p, "word": float(word), "written": 2.0}
            facts = {"decision": {"features": features if not blank else {"blank": 1.0}}}
            common = {"next": "type", "after": "type", "wait_s": 0.2, "took_s": 0.1, "quiet": ""}
            moments.append(common | {"text": None if blank else "x", "right": right, "facts": facts})
        moments.append(moments[0] | {"again": True, "right": False})
        journal.add(f"{fit.CONTENDER} script {script}", {"moments": moments})
    journal.add("another script 1", {"moments": [moments[0]]})
    return journal


def test_what_is_shown_and_what_is_asked_are_told_apart(journal: Journal):
    show, ask = (fit.samples(journal, shown=shown) for shown in (True, False))
    assert len(ask.right) == 20 * 60
    assert len(show.right) < len(ask.right)
    assert show.names == ["log_p", "word", "written"]
    assert ask.names == ["blank", "log_p", "word", "written"]


def test_the_fit_finds_what_the_data_was_made_by(journal: Journal, tmp_path: Path):
    out = tmp_path / "table.json"
    assert fit.main(["--out", str(out)]) == 0
    table = json.loads(out.read_text())
    show = Model(**table["show"])
    sure, unsure = ({"log_p": log_p, "word": 0.0, "written": 2.0} for log_p in (0.0, -3.0))
    assert show(sure) == pytest.approx(1 / (1 + np.exp(-1)), abs=0.08)
    assert show(unsure) == pytest.approx(1 / (1 + np.exp(2)), abs=0.08)
    assert show(sure | {"word": 1.0}) < 0.1
    assert "log_p" not in table["ask"]["weights"], "the answer is not known before it is asked for"
    assert Model(**table["ask"])({"blank": 1.0}) < 0.1
    assert table["least"]["show"].keys() == {"auto", "eager"}
    for each in table["reliability"]["show"]:
        assert each["foretold"] == pytest.approx(each["right"], abs=0.12)


def test_the_least_probability_gives_the_share_that_is_wanted():
    rng = np.random.default_rng(0)
    foretold = rng.random(5000)
    right = (rng.random(5000) < foretold).astype(float)
    least = fit.least_right(foretold, right, 0.7)
    assert right[foretold >= least].mean() == pytest.approx(0.7, abs=0.02)
    assert least == pytest.approx(0.4, abs=0.05)
    kept = fit.least_kept(foretold, right, 0.03)
    assert right[foretold < kept].sum() / right.sum() == pytest.approx(0.03, abs=0.005)


def test_a_fit_judges_scripts_that_it_has_not_seen(journal: Journal):
    """A feature that only names the script must not help."""
    data = fit.samples(journal, shown=True)
    scripts = sorted(set(data.groups))
    names = np.array([[float(group == script) for script in scripts] for group in data.groups])
    rng = np.random.default_rng(1)
    chance = {script: float(rng.random() < 0.5) for script in scripts}
    right = np.array([chance[group] for group in data.groups])
    foretold = fit.held_out(fit.Samples(scripts, names, right, data.groups))
    assert np.std(foretold) < 0.2


def test_too_little_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("dlsp.models.store.folder", lambda: tmp_path)
    assert fit.main(["--out", str(tmp_path / "table.json")]) == 2
    assert "--split fit" in capsys.readouterr().err
    assert not (tmp_path / "table.json").exists()
