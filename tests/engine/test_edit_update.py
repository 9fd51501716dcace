"""The edit update: rewrites see the base with it, all other requests the base as it is."""

import copy
import random
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from dlsp_engine.decode.session import Session
from dlsp_engine.engine import Engine
from dlsp_engine.errors import EngineError
from dlsp_engine.model import edit_update, manifest
from dlsp_engine.model.adapter import Adapter, projections
from dlsp_engine.model.int8 import Int8Qwen2, Int8Weights
from dlsp_engine.model.quantised import quantised
from dlsp_engine.model.qwen2 import Model, Qwen2
from dlsp_engine.model.rows import MASK, Rows
from dlsp_engine.model.update import Update
from dlsp_engine.model.weights import Weights
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap
from dlsp_engine.text.rewrite import Rewrite, rewrite_prompt
from dlsp_engine.train.model import LowRanks
from dlsp_kernels.int8_linear.kinds import best
from tests.engine.test_rewrite import plainly, rewritten, window

SCALE = 0.3


def layers(model: Model) -> edit_update.Layers:
    return Adapter.random(model.shape, scale=SCALE, seed=3).layers


def with_edits(model: Model) -> Qwen2:
    assert isinstance(model, Qwen2)
    found = copy.copy(model)
    found.edits = layers(model)
    return found


def merged(model: Model) -> Qwen2:
    """The base with the update added to its weights."""
    assert isinstance(model, Qwen2)
    changed = [
        replace(layer, **{name: getattr(layer, name) + low.b @ low.a for name, low in lows.items()})
        for layer, lows in zip(model.weights.layers, layers(model), strict=True)
    ]
    return Qwen2(replace(model.weights, layers=changed), model.adapter)


@pytest.fixture
def taught(tiny: Engine) -> Engine:
    return Engine(with_edits(tiny.model), tiny.tokenizer)


def states(model: Model, edits: bool, canvas: bool = True, beside: bool = False) -> Tensor:
    """Of clean rows in two steps, with a canvas behind the first. `beside`: another session shares the steps, to which
    the update does not apply."""
    cache, other, found = model.new_cache(), model.new_cache(), []
    cache.edits = edits
    for start, end in ((0, 24), (24, 30)):
        rows, more = Rows(), Rows()
        rows.add_clean(list(range(start, end)), start)
        if canvas and not start:
            rows.add_canvas([MASK, MASK], after=end - 1)
        more.add_clean(list(range(40 + start, 40 + end)), start)
        batch = [(other, more), (cache, rows)] if beside else [(cache, rows)]
        found.append(model.forward(batch)[-len(rows) :])
        cache.length = other.length = end
    return torch.cat(found)


def test_rows_of_a_rewrite_are_those_of_merged_weights_and_others_those_of_the_base(tiny: Engine) -> None:
    model = with_edits(tiny.model)
    base, changed = (states(each, edits=False, canvas=False) for each in (tiny.model, merged(tiny.model)))
    torch.testing.assert_close(states(model, edits=True, canvas=False), changed, rtol=1e-4, atol=1e-4)
    assert torch.equal(states(model, edits=False), states(tiny.model, edits=False))
    assert not torch.allclose(base, changed, atol=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_a_rewrite_is_the_greedy_text_of_the_merged_model(tiny: Engine, taught: Engine, seed: int) -> None:
    other, rng = Engine(merged(tiny.model), tiny.tokenizer), random.Random(seed)
    differs = 0
    for _ in range(8):
        asked = replace(window(rng, 4), force=rng.choice([None, -100.0]), margin=rng.choice([0, 0.5]))
        expected = plainly(other, asked, 8)
        for mode in ("verified", "autoregressive"):
            (told,) = rewritten(taught, asked, max_tokens=8, mode=mode)
            assert list(told.tokens) == expected
        differs += plainly(tiny, asked, 8) != expected
    assert differs


def test_gaps_and_rewrites_share_no_keys_and_values(tiny: Engine, taught: Engine) -> None:
    """One session, and several in the same steps, whose prompts begin alike."""
    text = "x = f(1)\ny = g(2)\n" * 12
    asked, session, options = Rewrite(text, path="c.py"), taught.new_session(), Options(max_tokens=6)
    (alone,) = rewritten(taught, asked, max_tokens=6)
    for _ in range(2):
        request = taught.rewrite_request(asked, options, session)
        while not request.done:
            taught.step([request])
        assert request.outcome().tokens == alone.tokens
        gap = Gap(text, "\n", path="c.py")
        filled = taught.fill(gap, options, session)
        assert filled.tokens == tiny.fill(gap, options).tokens
    one, other = taught.new_session(), taught.new_session()
    tokens = rewrite_prompt(asked, taught.tokenizer).tokens
    one.advance(tokens)
    while rows := one.prefill():
        taught.model.forward([(one.cache, rows)])
        one.extend([], len(rows))
    other.advance(tokens, edits=True)
    assert (one.shares(other), other.borrow(one, len(tokens))) == (0, 0)
    same = Session(taught.model.new_cache())
    same.advance(tokens)
    assert same.borrow(one, len(tokens)) > 100


@pytest.fixture
def in_int8(tiny: Engine) -> tuple[Int8Qwen2, Int8Qwen2]:
    """The tiny model in int8, without and with the update."""
    if (kind := best()) is None:
        pytest.skip("no int8 matmul here")
    assert isinstance(tiny.model, Qwen2)
    weights, adapter = tiny.model.weights, tiny.model.adapter
    packed = Int8Weights.of(quantised(weights, adapter, kind), weights.architecture, kind)
    plain, taught = (Int8Qwen2(weights, adapter, packed) for _ in range(2))
    tensors = edit_update.quantised(layers(tiny.model), weights, kind)
    taught.edits = edit_update.linears(tensors, weights.architecture, kind)
    return plain, taught


def test_in_int8_a_rewrite_is_nearly_that_of_merged_weights(tiny: Engine, in_int8: tuple[Int8Qwen2, Int8Qwen2]) -> None:
    def logits(model: Model, edits: bool) -> Tensor:
        return model.head(states(model, edits, canvas=False))

    plain, taught = in_int8
    near = torch.cosine_similarity(logits(merged(tiny.model), False), logits(taught, True), dim=1)
    far = torch.cosine_similarity(logits(merged(tiny.model), False), logits(plain, False), dim=1)
    assert near.min() > 0.97, near
    assert far.min() < 0.9, "the update changes something"


def test_in_int8_no_other_row_changes_and_none_depends_on_its_neighbours(
    in_int8: tuple[Int8Qwen2, Int8Qwen2],
) -> None:
    plain, taught = in_int8
    assert torch.equal(states(plain, edits=False), states(taught, edits=False))
    assert torch.equal(states(taught, edits=True), states(taught, edits=True, beside=True))
    for _ in range(3):  # until the steps are captured
        assert torch.equal(states(plain, edits=False), states(taught, edits=False, beside=True))


def written(path: Path, model: Model, **metadata: str) -> Path:
    torch.manual_seed(0)
    update = LowRanks(model.shape, 2)
    tensors = {name: torch.randn_like(value) for name, value in update.state_dict().items()}
    save_file(tensors, path, metadata=metadata)
    return path


def test_an_update_belongs_to_one_base_and_one_infill_update(tiny: Engine, tmp_path: Path) -> None:
    gguf = tmp_path / "m.gguf"
    gguf.write_bytes(b"a model")
    base = sha256(b"a model").hexdigest()
    assert edit_update.beside(tmp_path, gguf, tmp_path, None) is None
    path = written(tmp_path / f"m{edit_update.ENDING}", tiny.model, base_sha256=base)
    assert edit_update.beside(tmp_path, gguf, tmp_path, None) == path
    infill = Update.of(written(tmp_path / "infill.safetensors", tiny.model))
    assert edit_update.beside(tmp_path, gguf, tmp_path, infill) is None, "trained without it"
    written(path, tiny.model, base_sha256=base, update_sha256=infill.sha256)
    assert edit_update.beside(tmp_path, gguf, tmp_path, infill) == path
    gguf.write_bytes(b"another model")
    assert edit_update.beside(tmp_path, gguf, tmp_path, infill) is None


def test_the_file_is_read_and_packed_once(tiny: Engine, tmp_path: Path) -> None:
    path = written(tmp_path / f"m{edit_update.ENDING}", tiny.model)
    read = edit_update.read(path, tiny.model.shape, torch.float32)
    for lows in read:
        assert {name: low.b.shape[0] for name, low in lows.items()} == {
            name: sum(outs) for name, (_, outs) in projections(tiny.model.shape).items()
        }
    kind = best()
    if kind and isinstance(tiny.model, Qwen2):
        assert isinstance(tiny.model.weights, Weights)
        edit_update.stored(tmp_path, path, tiny.model.weights, kind)
        (packed,) = tmp_path.glob("edits-*.safetensors")
        assert manifest.whole(packed)
        before = packed.stat().st_mtime_ns
        edit_update.stored(tmp_path, path, tiny.model.weights, kind)
        assert packed.stat().st_mtime_ns == before
    path.write_bytes(b"no such file")
    with pytest.raises(EngineError, match="cannot be read"):
        edit_update.read(path, tiny.model.shape, torch.float32)
