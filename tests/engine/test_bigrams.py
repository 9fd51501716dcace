"""Pairs of tokens: what is counted, what it moves, and that an adapter carries it."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from dlsp_engine.decode.draft import read_canvas
from dlsp_engine.decode.scores import Scores
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.bigrams import SMOOTHING, Bigrams
from dlsp_engine.model.weights import Weights
from dlsp_engine.train import checkpoint
from dlsp_engine.train.adapter import counted
from dlsp_engine.train.model import Parameters
from dlsp_engine.train.store import Samples

VOCAB = 40
SHAPE = Architecture(layers=1, dim=16, heads=2, kv_heads=1, head_dim=8, ff=24, vocab=VOCAB, theta=1e4, eps=1e-6)


@pytest.fixture
def pairs() -> Bigrams:
    """3 is followed by 5 a thousand times, by 6 ten times; 7 by 3 a thousand times."""
    first = np.repeat([3, 3, 7], [1000, 10, 1000])
    return Bigrams.counted(first, np.repeat([5, 6, 3], [1000, 10, 1000]), VOCAB, most=3)


def test_information_is_what_it_says(pairs: Bigrams):
    found = pairs.information(3, np.array([5, 6, 9]))
    all_tokens = 2010
    for told, token, together in zip(found, (5, 6, 9), (1000, 10, 0), strict=True):
        share = (pairs.alone[token] + 0.5) / (all_tokens + 0.5 * VOCAB)
        expected = (together + SMOOTHING * share) / (1010 + SMOOTHING) / share
        assert told == pytest.approx(math.log(expected))
    assert found[0] > found[1] > found[2]
    assert (pairs.information(20, np.arange(VOCAB)) == 0).all(), "nothing is known of what never occurred"


def test_only_the_most_frequent_are_kept():
    kept = Bigrams.counted(np.array([1, 1, 1, 2, 2, 4]), np.array([2, 2, 2, 9, 9, 1]), VOCAB, most=2)
    assert kept.after.tolist() == [2, 9]
    assert kept.count.tolist() == [3, 2]
    assert Bigrams.counted(np.full(99_999, 1), np.full(99_999, 2), VOCAB, most=1).count.tolist() == [99_999]
    assert (kept.starts[1], kept.starts[2], kept.starts[3], kept.starts[VOCAB]) == (0, 1, 2, 2)
    assert kept.alone[4] == 1


def test_an_adapter_carries_them(pairs: Bigrams, tmp_path: Path):
    weights = Weights.random(SHAPE)
    parameters = Parameters(weights, rank=2)
    parameters.bigrams = pairs
    path, bare = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    checkpoint.export(path, parameters, {"base": "small.gguf"})
    save_file({k: t for k, t in load_file(path).items() if not k.startswith("bigrams")}, bare, {"base": "small.gguf"})
    loaded, without = (Adapter.load(file, "small.gguf", SHAPE, torch.float32) for file in (path, bare))
    again = Parameters.load(path, weights).bigrams
    canvas = Scores(torch.randn(3, VOCAB, generator=torch.Generator().manual_seed(1)))
    assert again
    assert without.bigrams is None
    assert (
        read_canvas(canvas, [3], loaded.bigrams) == read_canvas(canvas, [3], pairs) == read_canvas(canvas, [3], again)
    )
    assert read_canvas(canvas, [3], pairs) != read_canvas(canvas, [3])


def test_pairs_do_not_reach_over_segments():
    class Two(Samples):
        def __init__(self) -> None: ...

        def shards(self):
            yield np.array([[1, 2, 3, 4]]), np.array([[4, 0, 4, 0]])

    found = counted(Two(), VOCAB, room=10**6)
    little = counted(Two(), VOCAB, room=8 * (VOCAB + 2))
    assert little.after.size == 1
    assert sum(tensor.nbytes for tensor in little.tensors().values()) <= 8 * (VOCAB + 2)
    assert [found.after[found.starts[a] : found.starts[a + 1]].tolist() for a in (1, 2, 3)] == [[2], [], [4]]
