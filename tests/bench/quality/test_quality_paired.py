"""Two results of one set, gap by gap."""

import json

import pytest

from bench.quality.paired import Paired, main, paired, passed


def test_won_and_lost_are_counted_on_the_gaps_of_both():
    before = {"a": True, "b": False, "c": True, "only before": True}
    after = {"a": True, "b": True, "c": False, "only after": True}
    assert paired(before, after) == Paired(gaps=3, before=2, after=2, won=1, lost=1)


@pytest.mark.parametrize(("won", "lost", "p"), [(0, 0, 1), (1, 1, 1), (5, 0, 2 / 32), (11, 1, 26 / 4096), (3, 2, 1)])
def test_p_is_that_of_the_exact_two_sided_sign_test(won, lost, p):
    assert Paired(100, 0, 0, won, lost).p == pytest.approx(p)
    assert Paired(100, 0, 0, lost, won).p == pytest.approx(p)


def test_languages_are_listed_apart(tmp_path, capsys):
    files = []
    for name, right in (("before", 0), ("after", 1)):
        samples = [{"task": f"{of}/1/line/{n}", "verified": {"pass": right}} for of in ("go", "rust") for n in range(3)]
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps({"samples": samples}))
    assert main([str(file) for file in files]) == 0
    shown = [line.replace("\u2502", "").split() for line in capsys.readouterr().out.splitlines()]
    assert ["all", "6", "0.0%", "100.0%", "6", "0", "0.031"] in shown
    assert ["rust", "3", "0.0%", "100.0%", "3", "0", "0.250"] in shown
    assert main([str(file) for file in files] + ["--variant", "diffusion:0.98"]) == 2


def test_results_of_other_benches_are_compared_too(tmp_path):
    held_out = tmp_path / "held-out.json"
    held_out.write_text(json.dumps({"samples": [{"task": "go/p/inside/0", "right": 1, "ended": 0}]}))
    assert passed(held_out, "verified") == {"go/p/inside/0": True}
    cross_file = tmp_path / "cross-file.json"
    sample = {"place": "p/a.py:3", "right": "x()", "without": {"right": False}, "with other files": {"right": True}}
    cross_file.write_text(json.dumps({"samples": [sample]}))
    assert passed(cross_file, "with other files") == {"p/a.py:3": True}
    assert passed(cross_file, "without") == {"p/a.py:3": False}
    assert passed(cross_file, "verified") == {}, "the line that is right is no verdict"
