"""The proof itself: on a tiny model in the fast set, on four gaps with the real one; `make prove` runs 200."""

import pytest

from bench.identity.gaps import gaps
from bench.identity.prove import prove, summary
from dlsp_engine.engine import Engine
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap


def test_the_proof_finds_a_wrong_acceptance(tiny: Engine, monkeypatch: pytest.MonkeyPatch):
    cases = [(Gap(f"x{n} = [", "]\n"), Options(mode="autoregressive", max_tokens=12)) for n in range(4)]
    assert {one.outcome for one in prove(tiny, cases)} == {"identical"}
    monkeypatch.setattr("dlsp_engine.decode.verify.common", lambda draft, chosen: len(draft))
    assert summary(list(prove(tiny, cases)))["all/different"] > 0


def test_gaps_are_of_every_kind_and_always_the_same():
    cut = gaps(30)
    assert cut == gaps(30)
    assert {options.end for _, options in cut} == {"line", "block"}
    assert any(gap.prefix[-1].isalnum() for gap, _ in cut), "some are cut inside a word"
    assert all(gap.prefix and gap.suffix for gap, _ in cut)


@pytest.mark.model
def test_four_real_gaps(real: Engine):
    metrics = summary(list(prove(real, gaps(4, seed=1))))
    assert metrics["all/different"] == 0, metrics
    assert metrics["canvas/split/tau"] > 1.1, "the shipped adapter drafts something that stands"
