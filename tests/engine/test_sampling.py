"""Samples: the distribution that is asked for, whatever the row is cut to, and the same draw in every decoding mode."""

import pytest
import torch

from dlsp_engine import EngineError
from dlsp_engine.decode.draft import read_canvas
from dlsp_engine.decode.sampling import SORTED_FIRST, TILE, Sampler
from dlsp_engine.decode.scores import Scores, greedy
from dlsp_engine.options import Options

DRAWS = 3000


def draws(logits: torch.Tensor, sampler: Sampler, count: int = DRAWS) -> torch.Tensor:
    """The tokens that `count` positions choose from the same logits [vocab]."""
    return torch.tensor(sampler.choose(logits.expand(count, -1), 0))


def shares(drawn: torch.Tensor, vocab: int) -> torch.Tensor:
    return drawn.bincount(minlength=vocab) / len(drawn)


def test_greedy_is_the_argmax():
    assert Sampler().choose(torch.tensor([[0.0, 3.0, 1.0]]), 0) == [1]


def test_every_row_has_its_greedy():
    logits = torch.randn(5, 1000)
    assert greedy(logits) == logits.argmax(-1).tolist()


def test_the_colder_the_greedier():
    logits = torch.tensor([1.0, 3.0, 2.0])
    assert set(draws(logits, Sampler(1e-40), 20).tolist()) == {1}


def test_what_is_excluded_is_never_drawn():
    logits = torch.full((1000,), -torch.inf)
    logits[[2, 3, 700]] = torch.tensor([1.0, 2.0, 1.5])
    assert set(draws(logits, Sampler(2.0), 200).tolist()) == {2, 3, 700}


def test_samples_follow_the_softmax_and_depend_on_seed_and_position_alone():
    logits = torch.tensor([2.0, 1.0, 0.0, -1.0])
    drawn = draws(logits, Sampler(1.5, seed=3))
    torch.testing.assert_close(shares(drawn, 4), (logits / 1.5).softmax(0), atol=0.03, rtol=0)
    one_by_one = [Sampler(1.5, seed=3).choose(logits[None], p)[0] for p in range(20)]
    assert one_by_one == drawn[:20].tolist()
    assert draws(logits, Sampler(1.5, seed=4), 40).tolist() != drawn[:40].tolist()
    of_seeds = torch.tensor([Sampler(1.5, seed=seed).choose(logits[None], 7)[0] for seed in range(DRAWS)])
    torch.testing.assert_close(shares(of_seeds, 4), (logits / 1.5).softmax(0), atol=0.03, rtol=0)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.0])
def test_samples_follow_the_softmax_across_tiles(temperature: float):
    """By the chi-squared statistic over a vocabulary of some tiles, the last of them not full. Tokens that are expected
    less than five times count as one.
    """
    generator = torch.Generator().manual_seed(1)
    logits = 2 * torch.randn(3 * TILE + 50, generator=generator)
    count = 10_000
    observed = draws(logits, Sampler(temperature, seed=9), count).bincount(minlength=len(logits)).double()
    expected = count * (logits.double() / temperature).softmax(0)
    often = expected >= 5
    observed, expected = (torch.cat([each[often], each[~often].sum()[None]]) for each in (observed, expected))
    degrees = len(expected) - 1
    statistic = float(((observed - expected) ** 2 / expected.clamp(min=1e-9)).sum())
    assert abs(statistic - degrees) < 5 * (2 * degrees) ** 0.5


@pytest.mark.parametrize(
    ("cut", "kept"),
    [
        ({"top_k": 2}, [0, 1]),
        ({"top_p": 0.49}, [0]),
        ({"top_p": 0.51}, [0, 1]),
        ({"top_p": 0.0}, [0]),
        ({"min_p": 0.29}, [0, 1, 2]),
        ({"min_p": 1.0}, [0]),
        ({"top_k": 2, "top_p": 0.6}, [0]),  # 0.5 of the 0.8 that two tokens have is enough
        ({"top_k": 3, "min_p": 0.5}, [0, 1]),
        ({"top_p": 0.99, "min_p": 0.05}, [0, 1, 2, 3]),
    ],
)
def test_a_row_is_cut_to_its_likeliest_tokens(cut: dict[str, float], kept: list[int]):
    p = torch.tensor([0.5, 0.3, 0.15, 0.04, 0.01])
    order = torch.randperm(5, generator=torch.Generator().manual_seed(2))
    drawn = shares(draws(p.log()[order], Sampler(1.0, **cut)), 5)  # type: ignore[arg-type]
    expected = torch.where(torch.isin(torch.arange(5), torch.tensor(kept)), p, 0.0)
    torch.testing.assert_close(drawn[order.argsort()], expected / expected.sum(), atol=0.03, rtol=0)


@pytest.mark.parametrize("cut", [{"top_k": 400}, {"top_p": 0.9}, {"min_p": 0.9}])
def test_a_row_is_cut_right_where_much_of_it_stays(cut: dict[str, float]):
    """More than what is sorted at first."""
    logits = 0.01 * torch.randn(600, generator=torch.Generator().manual_seed(3))
    drawn = draws(logits, Sampler(1.0, **cut), 8_000)  # type: ignore[arg-type]
    p = logits.softmax(0)
    order = p.argsort(descending=True)
    if "top_k" in cut:
        allowed = order[:400]
    elif "top_p" in cut:
        allowed = order[: int((p[order].cumsum(0) < 0.9).sum()) + 1]
    else:
        allowed = (p >= 0.9 * p.max()).nonzero()[:, 0]
    assert len(allowed) > 256
    assert torch.isin(drawn, allowed).all()
    assert len(drawn.unique()) == len(allowed), "each of them is drawn now and then"


def test_a_row_is_cut_right_where_nearly_all_of_it_stays():
    """More than what is sorted before all is."""
    logits = 0.01 * torch.randn(12_000, generator=torch.Generator().manual_seed(3))
    drawn = draws(logits, Sampler(1.0, top_p=0.9), 300)
    order = logits.argsort(descending=True)
    allowed = order[: int((logits.softmax(0)[order].cumsum(0) < 0.9).sum()) + 1]
    assert torch.isin(drawn, allowed).all()
    assert torch.isin(drawn, order[SORTED_FIRST[-1] :]).any()


def test_drafts_add_the_noise_that_the_draw_will_add():
    """A canvas that foretells the logits drafts what will be drawn there."""
    generator = torch.Generator().manual_seed(5)
    logits = 3 * torch.randn(60, 151_936, generator=generator)
    sampler = Sampler(0.8, seed=11)
    drawn = sampler.choose(logits, 30)
    plain, coupled = 0, 0
    for row, token in enumerate(drawn):
        canvas = logits[row : row + 1]
        plain += read_canvas(Scores(canvas), [0]).tokens == [token]
        noisy = read_canvas(
            Scores(canvas), [0], None, lambda ids, vocab, row=row: sampler.draft_noise(ids, 30 + row, vocab)
        )
        coupled += noisy.tokens == [token]
    assert coupled > 1.5 * plain


def test_options_say_what_they_take():
    for wrong in ({"top_p": 1.1}, {"top_k": -1}, {"min_p": -0.1}, {"min_p": True}):
        with pytest.raises(EngineError, match=next(iter(wrong))):
            Options(**wrong)  # type: ignore[arg-type]
