"""Which masked positions of a canvas to commit in a step, apart from the first, which the base model itself says."""

from collections.abc import Callable

from torch import Tensor

Rule = Callable[[Tensor, Tensor, float], list[int]]
"""(probability of the best token [n], entropy in nats [n], the rule's number) -> indices into n."""


def threshold(probability: Tensor, entropy: Tensor, value: float) -> list[int]:
    """All positions surer than `value` (Fast-dLLM, arXiv 2505.22618)."""
    return (probability > value).nonzero()[:, 0].tolist()


def factor(probability: Tensor, entropy: Tensor, value: float) -> list[int]:
    """The n surest, n the largest with c(n) >= 1 - value / (n + 1) (dInfer)."""
    order = probability.argsort(descending=True).tolist()
    n = max((i for i, at in enumerate(order, 1) if probability[at] >= 1 - value / (i + 1)), default=0)
    return order[:n]


def entropy_bounded(probability: Tensor, entropy: Tensor, value: float) -> list[int]:
    """In order of entropy, as long as the sum of the earlier ones stays within `value` (EB, arXiv 2505.24857)."""
    order = entropy.argsort()
    earlier = entropy[order].cumsum(0).roll(1)
    earlier[0] = 0
    return order[: max(1, int((earlier <= value).sum()))].tolist()


RULES: dict[str, Rule] = {"threshold": threshold, "factor": factor, "entropy": entropy_bounded}
