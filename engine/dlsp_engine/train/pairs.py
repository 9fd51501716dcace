"""How often one token follows another in the samples."""

import numpy as np

from dlsp_engine.model.bigrams import Bigrams
from dlsp_engine.train.segments import START
from dlsp_engine.train.store import Samples

MOST = 420_000
"""Pairs that an adapter carries, in less than 5 MB."""


def counted(samples: Samples, vocab: int) -> Bigrams:
    """Over all training samples, within their segments."""
    first, second = [], []
    for tokens, marks in samples.shards():
        within = (marks[:, 1:] & START) == 0
        first.append(tokens[:, :-1][within])
        second.append(tokens[:, 1:][within])
    return Bigrams.counted(np.concatenate(first), np.concatenate(second), vocab, MOST)
