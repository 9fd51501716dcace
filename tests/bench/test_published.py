"""The bench of how near chats come to the model as published: its sums."""

import pytest

from bench.published import MERGED, PUBLISHED, SHIPPED, Answer, summary


def test_nats_and_tokens_are_those_beside_the_model_as_published() -> None:
    published = [Answer((1.0, 2.0), (5, 6)), Answer((3.0,), (7,))]
    near = [Answer((1.5, 1.5), (5, 6)), Answer((3.0,), (7,))]
    far = [Answer((2.0, 3.0), (5, 9)), Answer((5.0,), (8,))]
    metrics = summary({PUBLISHED: published, SHIPPED: near, MERGED: far})
    assert metrics["tokens"] == 3
    assert metrics[f"{PUBLISHED}/nats"] == 2
    assert metrics[f"{SHIPPED}/more_nats"] == 0
    assert metrics[f"{SHIPPED}/apart_nats"] == pytest.approx(1 / 3)
    assert metrics[f"{SHIPPED}/same_token"] == 1
    assert metrics[f"{MERGED}/more_nats"] == 1.5
    assert metrics[f"{MERGED}/same_token"] == pytest.approx(1 / 3)
