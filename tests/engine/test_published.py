"""Published rows: those from which the infill update in the weights is taken back. They see the base as published, in
float32 and in int8, beside rows of gaps, and share no keys and values with these.
"""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from dlsp_engine import Engine, Gap, Options
from dlsp_engine.model.adapter import Adapter, LowRank
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.gpu.step import GpuQwen2
from dlsp_engine.model.int8 import Int8Qwen2, Int8Weights
from dlsp_engine.model.quantised import quantised
from dlsp_engine.model.qwen2 import Model, Qwen2
from dlsp_engine.model.rows import MASK, Rows
from dlsp_engine.model.update import Removal
from dlsp_engine.model.weights import Layer, Weights
from dlsp_engine.serve.prompt_caches import PromptCaches
from dlsp_engine.serve.sessions import Sessions
from dlsp_engine.text.chat import Generation
from dlsp_engine.text.tokenizer import ByteTokenizer
from dlsp_kernels.int8_linear.compiled import Compiled
from dlsp_kernels.int8_linear.kinds import best

TOKENS = [(7 * i) % 250 for i in range(90)]
SAMPLE = (torch.arange(240) * 37 % 251).view(6, 40)


def removal_of(dense: Qwen2, scale: float = 1.0) -> Removal:
    """What takes back an update that changes the tiny model a lot."""
    update = Adapter.random(dense.shape, rank=3, scale=scale, seed=5)
    return [{name: LowRank(low.a, -low.b) for name, low in layer.items()} for layer in update.layers]


def updated(weights: Weights, removal: Removal) -> Weights:
    """The weights with the update merged."""
    layers = []
    for layer, low in zip(weights.layers, removal, strict=True):
        changed = {name: getattr(layer, name) - pair.b @ pair.a for name, pair in low.items()}
        layers.append(Layer(**(layer.tensors() | changed)))
    return Weights(weights.architecture, layers, weights.embedding, weights.norm, weights.own_head)


def float32(dense: Qwen2, removal: Removal) -> Model:
    return Qwen2(updated(dense.weights, removal), dense.adapter, removal)


def int8(dense: Qwen2, removal: Removal, bits: int = 8) -> Model:
    kind = best()
    if not kind or (bits == 4 and not isinstance(kind, Compiled)):
        pytest.skip("no kernel for it runs here")
    weights, sample = updated(dense.weights, removal), SAMPLE if bits == 4 else None
    tensors = quantised(weights, dense.adapter, kind, sample=sample, removal=removal)
    return Int8Qwen2(weights, dense.adapter, Int8Weights.of(tensors, dense.shape, kind))


def int8_by_torch(dense: Qwen2, removal: Removal) -> Model:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dlsp_engine.model.int8.usable", lambda: None)
        patch.setattr("dlsp_engine.model.int8.suited", lambda *_: None)
        return int8(dense, removal)


def int4(dense: Qwen2, removal: Removal) -> Model:
    return int8(dense, removal, bits=4)


def gpu(dense: Qwen2, removal: Removal) -> Model:
    """By the references of the GPU's kernels."""
    return GpuQwen2(updated(dense.weights, removal), dense.adapter, "cpu", fused=False, pages=64, removal=removal)


MAKERS = {"gpu": gpu, "float32": float32, "int8": int8, "int8 by PyTorch": int8_by_torch, "int4": int4}


def logits(model: Model, published: bool, canvas: int = 2) -> Tensor:
    """Of TOKENS in pieces, with a canvas behind each."""
    cache, found = model.new_cache(), []
    cache.published = published
    for start, end in ((0, 60), (60, 87), (87, 90)):
        rows = Rows()
        rows.add_clean(TOKENS[start:end], start)
        rows.add_canvas([MASK] * canvas, after=end - 1)
        found.append(model.head(model.forward([(cache, rows)])))
        cache.length = end
    return torch.cat(found)


def similarity(one: Tensor, other: Tensor) -> Tensor:
    return torch.cosine_similarity(one, other, dim=1)


@pytest.fixture(params=MAKERS)
def made(request: pytest.FixtureRequest, tiny: Engine) -> tuple[Model, Qwen2]:
    """A model with an update that it can take back, and the float32 model as published."""
    assert isinstance(tiny.model, Qwen2)
    return MAKERS[request.param](tiny.model, removal_of(tiny.model)), tiny.model


def test_published_rows_see_the_base_as_published_and_the_others_the_update(made: tuple[Model, Qwen2]) -> None:
    model, base = made
    assert model.removes_update
    removal = removal_of(base)
    with_update = Qwen2(updated(base.weights, removal), base.adapter)
    told, other = logits(base, published=False), logits(with_update, published=False)
    least = 0.85 if isinstance(model, Int8Qwen2) else 0.99999
    assert similarity(logits(model, published=True), told).mean() > least
    assert similarity(logits(model, published=False), other).mean() > least
    assert similarity(told, other).mean() < 0.6, "the update changes much"


def test_published_rows_beside_rows_of_gaps_are_each_their_own(made: tuple[Model, Qwen2]) -> None:
    model, _ = made
    batch, apart = [], []
    for published in (True, False, True):
        rows = Rows()
        rows.add_clean(TOKENS[:5], 0)
        rows.add_canvas([MASK, MASK], after=4)
        mixed, alone = model.new_cache(), model.new_cache()
        mixed.published = alone.published = published
        batch.append((mixed, rows))
        apart.append(model.forward([(alone, rows)]).clone())
    for _ in range(3):  # the later ones are captured and replayed
        torch.testing.assert_close(model.forward(batch), torch.cat(apart), rtol=1e-4, atol=1e-4)


def test_rows_of_gaps_are_the_same_to_the_bit_with_and_without_a_removal(tiny: Engine) -> None:
    assert isinstance(tiny.model, Qwen2)
    removal, kind = removal_of(tiny.model), best()
    if not kind:
        pytest.skip("no int8 matmul here")
    weights = updated(tiny.model.weights, removal)
    plain = Int8Weights.of(quantised(weights, tiny.model.adapter, kind), tiny.model.shape, kind)
    without = Int8Qwen2(weights, tiny.model.adapter, plain)
    assert not without.removes_update
    expected = logits(without, published=False)
    assert torch.equal(logits(int8(tiny.model, removal), published=False), expected)


@pytest.fixture(params=[float32, gpu], ids=["CPU", "GPU"])
def engine(request: pytest.FixtureRequest, tiny: Engine, one_thread: None) -> Engine:
    assert isinstance(tiny.model, Qwen2)
    return Engine(request.param(tiny.model, removal_of(tiny.model)), ByteTokenizer())


def answer(engine: Engine, mode: str = "verified", text: str = "x = 1\n" * 20) -> tuple[int, ...]:
    request = engine.generation_request(Generation((text,)), Options(mode=mode, max_tokens=16))
    while not request.done:
        engine.step([request])
    return request.outcome().tokens


def test_a_chat_is_answered_by_the_base_as_published_and_a_gap_by_the_updated_one(engine: Engine, tiny: Engine) -> None:
    assert isinstance(tiny.model, Qwen2)
    chats = {mode: answer(engine, mode) for mode in ("verified", "autoregressive")}
    assert chats["verified"] == chats["autoregressive"] == answer(Engine(tiny.model, ByteTokenizer()))
    with_update = Engine(
        Qwen2(updated(tiny.model.weights, removal_of(tiny.model)), tiny.model.adapter), ByteTokenizer()
    )
    gap = Gap("x = 1\n" * 20, "\ny = 2\n")
    assert engine.fill(gap, Options(max_tokens=16)).tokens == with_update.fill(gap, Options(max_tokens=16)).tokens
    assert answer(with_update) != chats["verified"]


def test_chats_and_gaps_share_no_keys_and_values(engine: Engine) -> None:
    text = "x = 1\n" * 20
    tokens = engine.prompt(Generation((text,))).tokens
    gap, chat = engine.new_session(), engine.new_session(published=True)
    for session in (gap, chat):
        session.advance(tokens)
    rows = gap.prefill()
    assert rows
    engine.model.forward([(gap.cache, rows)])
    gap.extend([], len(rows))
    assert chat.borrow(gap, len(tokens)) == 0
    assert engine.new_session().shares(gap) == 0
    other = gap.copy()
    assert other.shares(gap) == len(tokens) - 1
    assert chat.copy().cache.published
    assert not other.cache.published


@pytest.mark.parametrize("engine", [float32], indirect=True)
def test_a_prompt_cache_on_disk_stays_what_it_was(engine: Engine, tmp_path: Path) -> None:
    sessions = Sessions(10**9)
    for name, published in (("gap", False), ("chat", True)):
        session = engine.new_session(published)
        session.advance([1, 2, 3] * 150)
        while rows := session.prefill():
            engine.model.forward([(session.cache, rows)])
            session.extend([], len(rows))
        sessions.keep(name, session)
    PromptCaches(tmp_path, 10**9, engine, "1").save(sessions)
    restored = PromptCaches(tmp_path, 10**9, engine, "1").restored()
    kinds = sorted(session.cache.published for session in restored)
    assert kinds == [False, True], "neither takes the other's place, though their tokens are the same"


@pytest.mark.usefixtures("one_thread")
def test_the_kernels_of_a_gpu_take_the_update_back_as_their_references_do() -> None:
    """In Triton's interpreter, in which bf16 and graphs are left out."""
    pytest.importorskip("triton")
    shape = Architecture(layers=1, dim=32, heads=4, kv_heads=2, head_dim=8, ff=48, vocab=70, theta=1e4, eps=1e-6)
    weights, adapter = Weights.random(shape), Adapter.random(shape)
    removal = Adapter.random(shape, rank=3, seed=5).layers
    found = []
    for fused in (True, False):
        model = GpuQwen2(weights, adapter, "cpu", fused, pages=16, removal=removal)
        batch = []
        for published in (True, False):
            cache, rows = model.new_cache(), Rows()
            cache.published = published
            rows.add_clean([5, 6, 7], 0)
            rows.add_canvas([MASK, MASK], after=2)
            batch.append((cache, rows))
        found.append(model.forward(batch))
        assert not model.failures
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)
