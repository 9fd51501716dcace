"""What the rows of a step say: asked one by one, and brought from a device together."""

import numpy as np
import torch

from dlsp_engine.decode.scores import CANDIDATES, TILE, Scores, Summary, summary_columns, top


def test_the_largest_are_found_by_their_tiles():
    n = 70 * TILE
    values = torch.stack([torch.arange(n), *(torch.randperm(n) for _ in range(2))]).float()  # in one tile, in many
    values[1, 5] = -torch.inf
    expected = values.topk(64)
    best, at = top(values, 64)
    assert torch.equal(best, expected.values)
    assert torch.equal(at, expected.indices)


def test_a_summary_says_what_the_logits_say():
    logits = torch.randn(7, 70 * TILE, generator=torch.Generator().manual_seed(1))
    canvas, rows = [2, 3, 6], [0, 3, 6]
    alone, together = Scores(logits), Scores(logits, Summary.of(summary_columns(logits, canvas=True)))
    best = alone.best()
    assert together.best() == best
    assert together.log_p(best) == alone.log_p(best)
    others = [*best[:-1], 5]
    assert together.log_p(others) == alone.log_p(others)
    for own, other in zip(alone[canvas].likeliest(), together[canvas].likeliest(), strict=True):
        assert own.shape == (3, CANDIDATES)
        assert np.array_equal(own, other)
    assert together[rows].best() == [best[row] for row in rows]
    assert torch.equal(together[rows].logits, logits[rows])
    assert together[2:4].best() == best[2:4]
    assert len(together[rows]) == len(together[2:5]) == 3


def test_a_summary_of_a_vocabulary_that_is_smaller_than_the_candidates():
    logits = torch.randn(2, 9, generator=torch.Generator().manual_seed(1))
    together = Scores(logits, Summary.of(summary_columns(logits, canvas=True)))[1:]
    assert together.likeliest()[1].tolist() == logits[1:].argsort(descending=True).tolist()


def test_without_a_canvas_a_summary_has_no_candidates():
    logits = torch.randn(2, 70 * TILE, generator=torch.Generator().manual_seed(1))
    columns = summary_columns(logits, canvas=False)
    assert columns.shape == (2, 2)
    assert Summary.of(columns).best.tolist() == logits.argmax(1).tolist()
