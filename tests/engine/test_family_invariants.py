"""The invariants for what families add to Qwen2, each with an adapter that disturbs canvas rows."""

from dataclasses import replace

import pytest

from dlsp_engine.engine import Engine
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.weights import Weights
from dlsp_engine.options import Options
from dlsp_engine.text.tokenizer import ByteTokenizer
from tests.engine import test_invariants as invariants

pytestmark = pytest.mark.usefixtures("one_thread")

QWEN2 = Architecture(layers=2, dim=32, heads=4, kv_heads=2, head_dim=8, ff=48, vocab=262, theta=1e4, eps=1e-6)
SHAPES = {
    "qwen2, untied": replace(QWEN2, tied=False),
    "qwen3": replace(QWEN2, family="qwen3", head_norm=True),
    "llama, scaled": replace(QWEN2, family="llama", rope_divisors=(1.0, 1.0, 2.0, 8.0)),
    "starcoder2": replace(QWEN2, family="starcoder2", layer_norm=True, gelu=True),
}


@pytest.fixture(params=SHAPES)
def engine(request: pytest.FixtureRequest) -> Engine:
    shape = SHAPES[request.param]
    return Engine(Qwen2(Weights.random(shape), Adapter.random(shape)), ByteTokenizer())


@pytest.mark.parametrize("schedule", ["split", "merged"])
def test_verified_is_autoregressive(engine: Engine, schedule: str):
    """Invariant 1, with drafts of every kind."""
    for number in (0, 1, 3):
        invariants.test_verified_is_autoregressive(engine, number, schedule, 0)


def test_what_is_copied_changes_no_answer(engine: Engine):
    for gap in invariants.GAPS:
        expected = engine.fill(gap, Options(mode="autoregressive", max_tokens=48))
        fill = engine.fill(gap, Options(draft=0, max_tokens=48))
        assert (fill.tokens, fill.reason) == (expected.tokens, expected.reason)


def test_a_session_advanced_by_typing_is_a_fresh_one(engine: Engine):
    """Invariant 2."""
    invariants.test_advanced_is_fresh(engine)


def test_a_canvas_never_leaks(engine: Engine):
    """Invariant 3."""
    invariants.test_nothing_leaks_backwards(engine)
    invariants.test_two_canvases_do_not_see_each_other(engine)
    invariants.test_packed_sessions_equal_single_ones(engine)
