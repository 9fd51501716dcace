"""The fit of the gate's table."""

import json
from pathlib import Path

import numpy as np
import pytest

from bench import results
from bench.journal import Journal
from bench.replay import fit
from bench.replay.samples import CONTENDER, asked, places, samples, shown
from dlsp.completions.gate.calibration import FILE, Model
from dlsp.models import catalogue
from dlsp.models.catalogue import DEFAULT


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    """Suggestions that are right as their log-probability says; words are never right, and what is blank not shown."""
    monkeypatch.setattr("dlsp.paths.cache_dir", lambda: tmp_path)
    journal = Journal(results.kept() / "replay" / "replay-fit-patient-nothing-qwen2.5-coder-0.5b.jsonl")
    rng = np.random.default_rng(0)
    for script in range(20):
        keystrokes = []
        for key in range(60):
            log_p, word, blank = -4 * rng.random(), rng.random() < 0.3, rng.random() < 0.2
            right = bool(rng.random() < fit.sigmoid(np.array(1 + log_p))) and not word and not blank
            features = {"log_p": log_p, "word": float(word), "written": 2.0}
            facts = {"decision": {"features": features if not blank else {"blank": 1.0}}}
            keystrokes.append(keystroke(None if blank else "x", right, facts, left=60 - key, agrees=int(right)))
        journal.add(f"{CONTENDER} script {script}", {"moments": keystrokes})
    journal.add("another script 1", {"moments": [keystroke("x", True, {}, left=1, agrees=1)]})
    return journal


def keystroke(text: str | None, right: bool, facts: dict, left: int, agrees: int, **more: bool) -> dict:
    common = {"next": "type", "after": "type", "wait_s": 0.2, "took_s": 0.1, "quiet": ""}
    return common | {"text": text, "right": right, "facts": facts, "left": left, "agrees": agrees} | more


def test_what_is_shown_and_what_is_asked_are_distinguished(journal: Journal):
    show, ask = samples(places(journal)), samples(asked(journal))
    assert len(ask.right) == 20 * 60
    assert len(show.right) < len(ask.right)
    assert {"log_p", "word", "written"} <= set(show.names)
    assert ask.names == ["blank", "log_p", "word", "written"]


def test_parts_of_a_line_are_judged_by_what_comes_next(journal: Journal):
    tokens = [[4, -0.1], [2, -0.2], [7, -3.0]]
    facts = {"decision": {"features": {"agreed": 0.0, "written": 2.0, "log_p": -3.3}}, "tokens": tokens}
    again = keystroke("lf = client", False, facts | {"tokens": []}, left=28, agrees=3, again=True)
    journal.add(f"{CONTENDER} parts", {"moments": [keystroke("self = client", False, facts, left=30, agrees=6), again]})
    whole, rest = (place for place in places(journal) if place.script.endswith(" parts"))
    assert [(offer.length, offer.right) for offer in whole.offers] == [(4, True), (6, True), (13, False)]
    assert whole.offers[1].features["log_p"] == pytest.approx(-0.3)
    assert whole.offers[1].features["written"] == 2.0
    assert [offer.length for offer in rest.offers] == [11]
    data = samples([whole, rest])
    assert data.weights.tolist() == pytest.approx([1 / 3] * 3 + [1])


def test_the_scripts_are_played_again(journal: Journal):
    """Wrong: seen until typing disagrees. Right: taken over, so that what was asked meanwhile is not."""
    facts = {"decision": {"features": {"written": 1.0}}}
    keystrokes = [
        keystroke("wrong", False, facts, left=20, agrees=2),
        keystroke("ong", False, facts, left=19, agrees=1, again=True),
        keystroke("right", True, facts, left=17, agrees=5),
        keystroke("ight", True, facts, left=16, agrees=4, again=True),
        keystroke("x", False, facts, left=12, agrees=0),
        keystroke("other", True, facts, left=40, agrees=5),
    ]
    journal.add(f"{CONTENDER} played", {"moments": keystrokes})
    mine = [place for place in places(journal) if place.script.endswith(" played")]
    seen = shown(mine, np.ones(len(mine)), 0.5)
    assert (seen.number, seen.right, seen.characters) == (4, 2, 10)
    assert shown(mine, np.array([0.1, 0.1, 0.1, 0.9, 0.1, 0.1]), 0.5).characters == 4


def test_the_fit_finds_what_the_data_was_made_by(journal: Journal, tmp_path: Path):
    out = tmp_path / "table.json"
    assert fit.write(DEFAULT, out) == 0
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
        assert each["predicted"] == pytest.approx(each["right"], abs=0.12)


def test_the_table_has_what_the_shipped_one_has(journal: Journal, tmp_path: Path):
    out = tmp_path / "table.json"
    assert fit.write(DEFAULT, out) == 0
    written, shipped = (json.loads(file.read_text()) for file in (out, FILE))
    assert written.keys() == shipped.keys()
    assert written["reliability"]["show"][0].keys() == shipped["reliability"]["show"][0].keys()


def test_of_weights_as_published_only_the_shift_is_fitted(journal: Journal, tmp_path: Path):
    """Answers that are right much more often than the table says raise it, and nothing else changes."""
    published, out = catalogue.find("1.5b"), tmp_path / "table.json"
    theirs = Journal(results.kept() / "replay" / f"replay-fit-patient-nothing-{published.name}.jsonl")
    features = {"log_p": -1.0, "p": 0.37}
    for script in range(10):
        answers = [keystroke("x", key % 10 > 0, {"decision": {"features": features}}, 60 - key, 1) for key in range(60)]
        theirs.add(f"{CONTENDER} script {script}", {"moments": answers})
    assert fit.write(published, out) == 0
    written, shipped = (json.loads(file.read_text()) for file in (out, FILE))
    assert Model(**written["show"])(features, written["published"]) == pytest.approx(0.9, abs=0.01)
    ours = ("published", "published_origin")
    assert {key: value for key, value in written.items() if key not in ours} == {
        key: value for key, value in shipped.items() if key not in ours
    }


def test_what_is_missing_is_played_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked: list[list[str]] = []
    monkeypatch.setattr(fit, "play", lambda words: asked.append(words) or 1)
    assert fit.main(["--minutes", "5", "--out", str(tmp_path / "table.json")]) == 1
    how = ["--split", "fit", "--patient", "--accepts", "nothing", "--contenders", CONTENDER]
    assert asked == [[*how, "--model", DEFAULT.name, "--minutes", "5.0"]]
    assert not (tmp_path / "table.json").exists()


def test_the_least_probability_gives_the_share_that_is_wanted(journal: Journal):
    found = places(journal)
    predicted = np.array([fit.sigmoid(np.array(place.offers[-1].features["log_p"])) for place in found])
    least = fit.least_right(found, predicted, 0.55)
    seen, more = shown(found, predicted, least), shown(found, predicted, least - 0.02)
    assert seen.right >= 0.55 * seen.number
    assert more.right < 0.55 * more.number
    right = np.array([place.offers[-1].right for place in found], dtype=float)
    kept = fit.least_kept(predicted, right, 0.03)
    assert right[predicted < kept].sum() / right.sum() == pytest.approx(0.03, abs=0.01)


def test_a_fit_judges_scripts_that_it_has_not_seen(journal: Journal):
    """A feature that only names the script must not help."""
    data = samples(places(journal))
    scripts = sorted(set(data.groups))
    names = np.array([[float(group == script) for script in scripts] for group in data.groups])
    rng = np.random.default_rng(1)
    chance = {script: float(rng.random() < 0.5) for script in scripts}
    right = np.array([chance[group] for group in data.groups])
    predicted = fit.held_out(fit.Samples(scripts, names, right, data.groups, data.weights))
    assert np.std(predicted) < 0.2


def test_too_little_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("dlsp.paths.cache_dir", lambda: tmp_path)
    assert fit.write(DEFAULT, tmp_path / "table.json") == 2
    assert "0 scripts were played" in capsys.readouterr().err
    assert not (tmp_path / "table.json").exists()
