"""How checkpoints of each convention are described, what they refuse, and what of them is cached."""

from dataclasses import replace

import pytest
import torch

from dlsp_engine.engine import Engine
from dlsp_engine.errors import EngineError
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.convention import BLOCK, WHOLE, Convention
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.rows import Rows
from dlsp_engine.model.weights import Weights
from dlsp_engine.options import Options
from dlsp_engine.text.chat import Generation
from dlsp_engine.text.prompt import Gap
from dlsp_engine.text.rewrite import Rewrite
from dlsp_engine.text.tokenizer import ByteTokenizer

SHAPE = Architecture(layers=2, dim=32, heads=4, kv_heads=2, head_dim=8, ff=48, vocab=262, theta=1e4, eps=1e-6)
BLOCKS = Convention(BLOCK, shifted=False, mask=258, block=4)
BOTH_WAYS = Convention(WHOLE, shifted=True, mask=258)

pytestmark = pytest.mark.usefixtures("one_thread")


def engine(convention: Convention) -> Engine:
    return Engine(Qwen2(Weights.random(replace(SHAPE, convention=convention))), ByteTokenizer())


def test_conventions_are_kept_with_the_sizes():
    for convention in (Convention(), BLOCKS, replace(BOTH_WAYS, expand=259, delete=261, end=261)):
        shape = replace(SHAPE, convention=convention)
        assert Architecture.from_json(shape.to_json()) == shape


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"attention": "both"}, "causal, block or whole"),
        ({"attention": WHOLE}, "mask token"),
        ({"attention": BLOCK, "mask": 3}, "positions in a block"),
        ({"attention": WHOLE, "mask": 3, "block": 4}, "Only a block checkpoint"),
        ({"attention": BLOCK, "mask": 3, "block": 8, "sub_block": 3}, "does not divide"),
        ({"attention": BLOCK, "mask": 3, "block": 8, "expand": 4}, "expands"),
        ({"shifted": False}, "causal"),
    ],
)
def test_contradictions_are_refused(wrong: dict[str, object], said: str):
    with pytest.raises(EngineError, match=said):
        Convention(**wrong)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("convention", [BLOCKS, BOTH_WAYS])
def test_there_is_no_causal_answer_of_a_diffusion_checkpoint(convention: Convention):
    one = engine(convention)
    session = one.new_session()
    for mode in ("verified", "autoregressive"):
        with pytest.raises(EngineError, match=f"no '{mode}' answer of it: set 'mode' to 'diffusion'"):
            one.fill(Gap("x = ", "\n"), Options(mode=mode), session)
        with pytest.raises(EngineError, match=mode):
            one.generation_request(Generation(("x = ",)), Options(mode=mode))
    assert session.tokens == [], "refused before the session is touched"
    with pytest.raises(EngineError, match="cannot judge edits"):
        one.rewrite_request(Rewrite("a\n"), Options())


def test_only_whole_blocks_are_cached():
    assert [BLOCKS.cacheable(tokens) for tokens in (0, 3, 4, 11)] == [0, 0, 4, 8]
    assert BOTH_WAYS.cacheable(11) == 0
    assert Convention().cacheable(11) == 11


@pytest.mark.parametrize("room", [1, 6, 100])
def test_prefill_in_blocks_equals_one_forward_of_the_whole_prompt(room: int):
    one = engine(BLOCKS)
    tokens = torch.randint(256, (22,), generator=torch.Generator().manual_seed(1)).tolist()
    session = one.new_session()
    session.advance(tokens)
    sizes: list[int] = []
    while rows := session.prefill(room):
        one.model.forward([(session.cache, rows)])
        session.extend([], len(rows))
        sizes.append(len(rows))
    assert sum(sizes) == session.cache.length == 20
    assert sizes[0] == {1: 4, 6: 4, 100: 20}[room]

    every, cache = Rows(), one.model.new_cache()
    for at in range(0, 20, 4):
        every.add_block(tokens[at : at + 4], at)
    one.model.forward([(cache, every)])
    cache.length = 20
    for cached, expected in zip(session.cache.held(), cache.held(), strict=True):
        torch.testing.assert_close(cached, expected)


def test_typing_keeps_whole_blocks():
    one = engine(BLOCKS)
    session = one.new_session()
    tokens = list(range(22))
    session.advance(tokens)
    while rows := session.prefill():
        one.model.forward([(session.cache, rows)])
        session.extend([], len(rows))
    assert session.fork(tokens[:15]).cache.length == 12
    assert session.advance([*tokens[:15], 99, 98]) == 12
    assert session.pending == [12, 13, 14, 99, 98]
