"""What canvases see and are taught: the shift, the leak gates, the trainer's forward against the engine's."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.rows import MASK, Rows
from dlsp_engine.model.weights import Weights
from dlsp_engine.train import checkpoint
from dlsp_engine.train.canvases import Batch, Canvases, draw_canvases, has_target, sample
from dlsp_engine.train.model import CanvasModel, Parameters
from dlsp_engine.train.segments import MIDDLE, START, TEXT
from dlsp_engine.train.trainer import canvas_states, clean_pass
from tests.engine.train.conftest import SMALL

FAMILIES = {
    "qwen2": SMALL,
    "qwen2, untied": replace(SMALL, tied=False),
    "qwen3": replace(SMALL, family="qwen3", head_norm=True),
    "llama, scaled": replace(SMALL, family="llama", rope_divisors=(1.0,) * 4 + (2.0,) * 4),
    "starcoder2": replace(SMALL, family="starcoder2", layer_norm=True, gelu=True),
}

# Two segments a row: tokens 0 … 8 and 9 … 23.
LENGTH, SECOND = 24, 9


def batch(rows: int = 2, seed: int = 0) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, 256, (rows, LENGTH), generator=generator)
    marks = torch.full((rows, LENGTH), MIDDLE)
    marks[:, [SECOND - 1, LENGTH - 1]] = 0
    marks[:, [0, SECOND]] |= START
    return Batch(ids, marks)


@pytest.fixture
def disturbed(tmp_path: Path, small: Weights) -> CanvasModel:
    """With an adapter that changes every canvas row, as the file that the engine would load has it."""
    torch.manual_seed(3)
    parameters = Parameters(small, rank=4)
    for value in parameters.parameters():
        torch.nn.init.normal_(value, std=0.3)
    checkpoint.export(tmp_path / "a.safetensors", parameters, {"base": "small.gguf"})
    return CanvasModel(small, Parameters.load(tmp_path / "a.safetensors", small))


def canvases_for(now: Batch, anchors: list[int], tokens: list[list[int]]) -> Canvases:
    """Canvases with these tokens after these anchors, the same in each row."""
    at = torch.tensor([anchors] * len(now.ids))
    shown = torch.tensor([tokens] * len(now.ids))
    offset = torch.arange(1, shown.shape[2] + 1)
    positions = at[..., None] + offset - now.starts.gather(1, at)[..., None]
    return Canvases(at, shown, positions, shown, shown, shown)


def states(model: CanvasModel, now: Batch, canvases: Canvases) -> torch.Tensor:
    with torch.no_grad():
        _, past = clean_pass(model, now, 8)
        return canvas_states(model, now, canvases, past)


@pytest.mark.parametrize("small", FAMILIES.values(), ids=FAMILIES, indirect=True)
def test_logits_are_the_engines(disturbed: CanvasModel, small: Weights, tmp_path: Path):
    """Positions, attention, low-rank updates and the shift: one slot off anywhere and this fails."""
    adapter = Adapter.load(tmp_path / "a.safetensors", "small.gguf", small.architecture, torch.float32)
    engine = Qwen2(small, adapter)
    now = batch()
    anchors, tokens = [3, 12, 22], [[MASK, MASK, MASK], [MASK, 65, MASK], [7, MASK, MASK]]
    ours = states(disturbed, now, canvases_for(now, anchors, tokens)) @ small.head.T
    for row in range(len(now.ids)):
        for number, (anchor, shown) in enumerate(zip(anchors, tokens, strict=True)):
            first = 0 if anchor < SECOND else SECOND
            rows = Rows()
            rows.add_clean(now.ids[row, first : anchor + 2].tolist(), 0)
            rows.add_canvas(shown, after=anchor - first)
            hidden = engine.forward([(engine.new_cache(), rows)])
            expected = engine.head(hidden[rows.scored])
            assert torch.allclose(ours[row, number], expected, atol=1e-4), (row, number)


def test_nothing_behind_the_anchor_is_seen(disturbed: CanvasModel):
    """Changed tokens behind the anchor, in other segments or other canvases change no canvas before them."""
    now = batch()
    canvases = canvases_for(now, [3, 12], [[MASK] * 3] * 2)
    base = states(disturbed, now, canvases)
    for at in range(LENGTH):
        ids = now.ids.clone()
        ids[:, at] = (ids[:, at] + 1) % 256
        changed = states(disturbed, Batch(ids, now.marks), canvases)
        for number, seen in enumerate((range(4), range(SECOND, 13))):
            same = torch.allclose(changed[:, number], base[:, number], atol=1e-6)
            assert same is (at not in seen), (at, number)
    other = states(disturbed, now, canvases_for(now, [3, 12], [[MASK] * 3, [MASK, 65, MASK]]))
    assert torch.allclose(other[:, 0], base[:, 0], atol=1e-6)
    assert not torch.allclose(other[:, 1, 0], base[:, 1, 0]), "a canvas sees itself in both directions"


def test_the_clean_pass_is_causal_and_knows_no_adapter(disturbed: CanvasModel, small: Weights):
    now = batch()
    hidden, _ = disturbed.clean(now.ids, now.positions, now.bias(torch.float32))
    engine = Qwen2(small)
    for first, last in ((0, SECOND), (SECOND, LENGTH)):
        rows = Rows()
        rows.add_clean(now.ids[1, first:last].tolist(), 0)
        expected = engine.forward([(engine.new_cache(), rows)])
        assert torch.allclose(hidden[1, first:last], expected, atol=1e-4)


def test_targets_are_the_bases_own_path():
    """Row j drafts token b + 2 + j, as long as the base would have chosen all text up to b + 1 + j."""
    now, width = batch(), 4
    greedy = now.ids.roll(-1, 1)
    greedy[:, 5] = 300 % 256  # the base would have gone on otherwise after token 5
    now.ids[:, 6] = 17
    greedy[:, 14] = 18
    now.ids[:, 15] = 19
    rows = has_target(now, greedy, width)
    for b in range(LENGTH):
        for j in range(width):
            end = SECOND if b < SECOND else LENGTH
            path = range(b + 1, b + 2 + j)
            agrees = all(i < end and int(greedy[0, i - 1]) == int(now.ids[0, i]) for i in path)
            assert bool(rows[0, b, j]) is agrees, (b, j)
    drawn = draw_canvases(now, greedy, 20, width, torch.Generator().manual_seed(0))
    for c, b in enumerate(drawn.anchors[0].tolist()):
        assert drawn.positions[0, c].tolist() == [b + 1 + j - (0 if b < SECOND else SECOND) for j in range(width)]
        for j in range(width):
            if drawn.taught[0, c, j]:
                assert int(drawn.targets[0, c, j]) == int(greedy[0, b + 1 + j])


def test_canvases_are_drawn_where_they_teach():
    now = batch(rows=64)
    greedy = now.ids.roll(-1, 1)
    greedy[:, 12:] += 1  # nothing agrees behind
    now.marks[:, :5] = TEXT
    now.marks[:, 0] |= START
    drawn = draw_canvases(now, greedy, 3, 4, torch.Generator().manual_seed(0))
    assert drawn.taught[..., 0].all()
    assert int(drawn.anchors.max()) <= 11
    assert (drawn.anchors[:, 0] >= 5).float().mean() > 0.55, "gaps come first: 48 to 20, where rows alone say 12 to 20"
    only = draw_canvases(now, greedy, 3, 4, torch.Generator().manual_seed(0), marks=MIDDLE, evenly=True)
    assert int(only.anchors.min()) >= 5
    more = draw_canvases(now, greedy, 20, 4, torch.Generator().manual_seed(0))
    assert (more.taught.any(2).sum(1) < 20).all(), "canvases without a target teach nothing"


def test_choice_without_repetition_and_by_weight():
    weight = torch.tensor([[0.0, 1.0, 1.0, 8.0]]).expand(4000, 4)
    picks = sample(weight, 3, torch.Generator().manual_seed(0))
    assert set(picks.flatten().tolist()) == {1, 2, 3}
    assert 0.77 < (picks[:, 0] == 3).float().mean() < 0.83


def test_shown_tokens_are_the_text_and_not_asked_for():
    now = batch(rows=16)
    greedy = now.ids.roll(-1, 1)
    drawn = draw_canvases(now, greedy, 8, 4, torch.Generator().manual_seed(0), reveal=1.0)
    shown = drawn.tokens != MASK
    assert 0.2 < shown.float().mean() < 0.6
    text = now.ids.gather(1, drawn.answered.flatten(1)).view_as(drawn.tokens)
    assert (drawn.tokens == text)[shown].all()
    assert not (drawn.taught[..., :-1] & shown[..., 1:]).any(), "a token that is shown need not be drafted"


def test_recomputing_saves_memory_and_changes_no_gradient(small: Weights, disturbed: CanvasModel):
    now, width = batch(), 4
    slopes = []
    for recompute in (False, True):
        parameters = Parameters(small, rank=4)
        parameters.load_state_dict(disturbed.parameters.state_dict())
        model = CanvasModel(small, parameters, recompute)
        base, past = clean_pass(model, now, 8)
        drawn = draw_canvases(now, base.greedy, 6, width, torch.Generator().manual_seed(0))
        canvas_states(model, now, drawn, past).square().sum().backward()
        slopes.append([value.grad for value in parameters.parameters()])
    assert all(left is not None and torch.equal(left, right) for left, right in zip(*slopes, strict=True))
