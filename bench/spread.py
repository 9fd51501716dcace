"""Samples to numbers: how their middle and their spread are named in results files."""

import statistics
from collections.abc import Sequence

import numpy as np


def quartiles(key: str, values: Sequence[float]) -> dict[str, float]:
    """`KEYq1`, `KEYmedian` and `KEYq3`."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return {f"{key}q1": low, f"{key}median": middle, f"{key}q3": high}


def tail(name: str, values: Sequence[float]) -> dict[str, float]:
    """`NAME/p50`, `NAME/p99` and `NAME/max`; nothing of no values."""
    if not values:
        return {}
    p50, p99 = map(float, np.percentile(values, (50, 99)))
    return {f"{name}/p50": p50, f"{name}/p99": p99, f"{name}/max": max(values)}
