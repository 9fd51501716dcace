"""Counts how often one token follows another in the samples."""

import numpy as np

from dlsp_engine.model.bigrams import Bigrams
from dlsp_engine.train.segments import START
from dlsp_engine.train.store import Samples

# The most pairs that an adapter carries: less than 5 MB.
MAX_PAIRS = 420_000
# Bytes of a pair, and of a token of the vocabulary.
ENTRY_BYTES = 8


def counted(samples: Samples, vocab: int, room: int) -> Bigrams:
    """Count the pairs within the segments of all training samples. Returns the most frequent ones, as many as fit into
    `room` bytes.
    """
    first, second = [], []
    for tokens, marks in samples.shards():
        within = (marks[:, 1:] & START) == 0
        first.append(tokens[:, :-1][within])
        second.append(tokens[:, 1:][within])
    most = min(MAX_PAIRS, max(0, room // ENTRY_BYTES - vocab - 1))
    return Bigrams.counted(np.concatenate(first), np.concatenate(second), vocab, most)
