import torch

from dlsp_engine.decode.diffusion import entropy_bounded, factor, threshold

P = torch.tensor([0.5, 0.95, 0.99, 0.2])
H = torch.tensor([0.7, 0.1, 0.02, 1.5])


def test_threshold():
    assert threshold(P, H, 0.9) == [1, 2]
    assert threshold(P, H, 0.999) == []
    assert sorted(threshold(P, H, 0.1)) == [0, 1, 2, 3]


def test_factor():
    # c(1) = 0.99 >= 1 - f / 2, c(2) = 0.95 >= 1 - f / 3, c(3) = 0.5 < 1 - f / 4
    assert factor(P, H, 0.2) == [2, 1]
    assert factor(P, H, 2.0) == [2, 1, 0]
    assert factor(P, H, 0.0) == []


def test_entropy_counts_only_the_earlier_ones():
    assert entropy_bounded(P, H, 0.0) == [2]
    assert entropy_bounded(P, H, 0.03) == [2, 1]
    assert entropy_bounded(P, H, 0.15) == [2, 1, 0]
    assert entropy_bounded(P, H, 9.0) == [2, 1, 0, 3]
