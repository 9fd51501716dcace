"""Logistic regression, by which probabilities are fitted."""

import numpy as np

STEPS = 30


def sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(logits, -30, 30)))


def logistic(x: np.ndarray, right: np.ndarray, ridge: np.ndarray, counts: np.ndarray | float = 1.0) -> np.ndarray:
    """x [samples, features], right [samples] 0 or 1, ridge [features] -> weights [features], by Newton's method; each
    sample `counts` so much.
    """
    weights = np.zeros(x.shape[1])
    for _ in range(STEPS):
        predicted = sigmoid(x @ weights)
        slope = x.T @ (counts * (right - predicted)) - ridge * weights
        bend = (x * (counts * predicted * (1 - predicted))[:, None]).T @ x + np.diag(ridge)
        weights += np.linalg.solve(bend, slope)
    return weights


def intercept(logits: np.ndarray, right: np.ndarray, counts: np.ndarray | float = 1.0) -> float:
    """What to add to the logits [samples] so that they foretell `right` best; each sample `counts` so much."""
    added = 0.0
    for _ in range(STEPS):
        predicted = sigmoid(logits + added)
        added += np.sum(counts * (right - predicted)) / np.sum(counts * predicted * (1 - predicted))
    return added
