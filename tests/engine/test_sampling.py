import torch

from dlsp_engine.decode.sampling import greedy, sample, sample_among


def test_greedy_is_the_argmax():
    assert sample(torch.tensor([0.0, 3.0, 1.0]), 0, 0, 0) == 1


def test_every_row_has_its_greedy():
    logits = torch.randn(5, 1000)
    assert greedy(logits) == logits.argmax(-1).tolist()


def test_the_colder_the_greedier():
    logits = torch.tensor([1.0, 3.0, 2.0])
    assert {sample(logits, p, 1e-40, 0) for p in range(20)} == {1}


def test_forced_stays_among_the_allowed():
    logits = torch.tensor([9.0, 3.0, 1.0, 2.0])
    allowed = torch.tensor([2, 3])
    assert sample_among(allowed, logits, 0, 0, 0) == 3
    assert {sample_among(allowed, logits, p, 2.0, 0) for p in range(50)} == {2, 3}


def test_samples_follow_the_softmax_and_depend_on_seed_and_position_alone():
    logits = torch.tensor([2.0, 1.0, 0.0, -1.0])
    drawn = torch.tensor([sample(logits, position, 1.5, 3) for position in range(4000)])
    share = drawn.bincount(minlength=4) / 4000
    torch.testing.assert_close(share, (logits / 1.5).softmax(0), atol=0.03, rtol=0)
    assert [sample(logits, p, 1.5, 3) for p in range(20)] == drawn[:20].tolist()
    assert [sample(logits, p, 1.5, 4) for p in range(40)] != drawn[:40].tolist()
