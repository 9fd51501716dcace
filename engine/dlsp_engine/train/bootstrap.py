"""Bootstrap confidence intervals of a mean or ratio whose samples come in groups."""

from collections.abc import Sequence

import numpy as np

RESAMPLES = 10_000


def interval(
    groups: Sequence[str], above: Sequence[float], below: Sequence[float] | None = None
) -> tuple[float, float]:
    """Return the 95% bootstrap interval of sum(above) / sum(below), or of the mean of `above`. Each sequence has one
    entry per sample.

    Whole groups are resampled: the samples of one group (the gaps of a program, the files of a package) are not
    independent, so resampling single samples would give an interval that is too narrow.
    """
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    at = [numbers[group] for group in groups]
    sums = np.zeros((2, len(numbers)))
    np.add.at(sums[0], at, above)
    np.add.at(sums[1], at, 1 if below is None else below)
    drawn = np.random.default_rng(0).integers(0, len(numbers), (RESAMPLES, len(numbers)))
    low, high = np.percentile(sums[0][drawn].sum(1) / np.maximum(1, sums[1][drawn].sum(1)), (2.5, 97.5))
    return float(low), float(high)
