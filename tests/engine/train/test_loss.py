"""The chunked head: the same gradients as plain autograd, weights as published."""

import pytest
import torch
import torch.nn.functional as F

from dlsp_engine.train.loss import SOFT_TARGETS, Taught, Weighting, backward, choices

N, WIDTH, DIM, VOCAB = 7, 4, 8, 32


def taught(seed: int = 0) -> Taught:
    g = torch.Generator().manual_seed(seed)
    mask = (torch.rand(N, WIDTH, generator=g) < 0.8).int().cumprod(1).bool()
    orders = [torch.randperm(VOCAB, generator=g) for _ in range(N * WIDTH)]
    tokens = torch.stack([order[:SOFT_TARGETS] for order in orders]).view(N, WIDTH, SOFT_TARGETS)
    return Taught(
        torch.randint(0, VOCAB, (N, WIDTH), generator=g), mask, tokens, torch.rand(N, WIDTH, SOFT_TARGETS, generator=g)
    )


@pytest.mark.parametrize("weighting", [Weighting(), Weighting("decay", 2.0), Weighting("decay", 3.0, soft=0.4)])
@pytest.mark.parametrize("chunk", [4, 12, 1000])
def test_chunks_change_nothing(weighting: Weighting, chunk: int):
    g = torch.Generator().manual_seed(1)
    source = torch.randn(N, WIDTH, DIM, generator=g, requires_grad=True)
    embedding, asked = torch.randn(VOCAB, DIM, generator=g), taught()
    log_p = F.linear(source.tanh(), embedding).log_softmax(-1)
    missed = -log_p.gather(2, asked.targets[..., None])[..., 0]
    weights = weighting.rows((-missed).exp().detach(), asked.mask)
    assert asked.tokens is not None
    assert asked.probabilities is not None
    spread = -(asked.probabilities * log_p.gather(2, asked.tokens)).sum(-1)
    expected = (((1 - weighting.soft) * missed + weighting.soft * spread) * weights).sum() / weights.sum()
    (slope,) = torch.autograd.grad(expected / 3, source)
    loss = backward(source.tanh(), embedding, asked, weighting, chunk, scale=1 / 3)
    assert loss == pytest.approx(expected.item(), rel=1e-5)
    assert source.grad is not None
    assert torch.allclose(source.grad, slope, atol=1e-6)


def test_pace_follows_acceptance():
    """w_j = sum over m >= j of the product over i <= m of (q_i / 2 + 1 / 2), within what is taught."""
    q = torch.tensor([[0.9, 0.5, 0.1, 0.7]])
    reach = [0.95, 0.95 * 0.75, 0.95 * 0.75 * 0.55, 0.95 * 0.75 * 0.55 * 0.85]
    weights = Weighting().rows(q, torch.ones(1, 4, dtype=torch.bool))
    assert torch.allclose(weights, torch.tensor([[sum(reach[j:]) for j in range(4)]]))
    cut = Weighting().rows(q, torch.tensor([[True, True, False, False]]))
    assert torch.allclose(cut, torch.tensor([[reach[0] + reach[1], reach[1], 0, 0]]))


def test_choices_in_chunks():
    g = torch.Generator().manual_seed(2)
    hidden, embedding = torch.randn(3, 5, DIM, generator=g), torch.randn(VOCAB, DIM, generator=g)
    logits = F.linear(hidden, embedding)
    said = choices(hidden, embedding, chunk=4, soft=True)
    assert torch.equal(said.greedy, logits.argmax(-1))
    best = logits.softmax(-1).topk(SOFT_TARGETS, -1)
    assert said.tokens is not None
    assert said.probabilities is not None
    assert torch.equal(said.tokens, best.indices)
    assert torch.allclose(said.probabilities, best.values, atol=1e-6)
