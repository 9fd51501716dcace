"""What an answer says of its own tokens: the model's log-probabilities, and how many characters each wrote."""

from math import exp

import pytest
import torch

from dlsp_engine.decode.answer import Answer
from dlsp_engine.decode.scores import Scores
from dlsp_engine.engine import Engine
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap

GAP = Gap("def f(x):\n    return ", "\n")


def test_every_mode_that_checks_says_the_same(tiny: Engine):
    plain = tiny.fill(GAP, Options(mode="autoregressive", max_tokens=12))
    verified = tiny.fill(GAP, Options(mode="verified", max_tokens=12))
    assert verified.tokens == plain.tokens
    assert [width for width, _ in verified.confidence] == [width for width, _ in plain.confidence]
    assert torch.tensor(verified.confidence).allclose(torch.tensor(plain.confidence), atol=1e-4)


@pytest.mark.parametrize("mode", ["autoregressive", "verified", "diffusion"])
def test_one_for_each_token(tiny: Engine, mode: str):
    fill = tiny.fill(GAP, Options(mode=mode, max_tokens=12))
    assert len(fill.confidence) == fill.cost.tokens
    assert sum(width for width, _ in fill.confidence) == len(fill.text)
    assert all(log_p <= 0 for _, log_p in fill.confidence)
    assert any(log_p < -1 for _, log_p in fill.confidence), "a model that has learned nothing is not sure"


def test_by_hand_also_where_text_is_forced(tiny: Engine):
    logits = torch.full((2, 262), -50.0)
    logits[0, [ord("a"), ord("b")]] = torch.tensor([1.0, 1.0])
    logits[1, [ord("c"), ord("d")]] = torch.tensor([2.0, 1.0])
    chosen = [ord("a"), ord("c")]
    free = Answer(GAP, Options(), tiny.tokenizer).log_probabilities(Scores(logits), chosen)
    assert [exp(each) for each in free] == pytest.approx([0.5, 1 / (1 + exp(-1))], abs=1e-3)
    forced = Answer(GAP, Options(), tiny.tokenizer, b"a").log_probabilities(Scores(logits), chosen)
    assert [exp(each) for each in forced] == pytest.approx([1, 1 / (1 + exp(-1))], abs=1e-3)
