"""How checkpoints of each convention are described, what they refuse, and what of them is cached."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dlsp_engine.engine import Engine
from dlsp_engine.errors import EngineError
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.convention import BLOCK, STATED, WHOLE, Convention
from dlsp_engine.model.hashes import content
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.rows import Rows
from dlsp_engine.model.safetensors_checkpoint import Safetensors
from dlsp_engine.model.weights import Weights
from dlsp_engine.options import Options
from dlsp_engine.text.chat import Generation
from dlsp_engine.text.prompt import Gap
from dlsp_engine.text.rewrite import Rewrite
from dlsp_engine.text.tokenizer import ByteTokenizer
from tests.engine import as_gguf
from tests.engine.test_family_table import dense
from tests.engine.test_safetensors_checkpoint import no_tokenizer  # noqa: F401 - a fixture

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
        ({"attention": WHOLE, "mask": 3, "suffix_first": True}, "suffix first"),
    ],
)
def test_contradictions_are_refused(wrong: dict[str, object], said: str):
    with pytest.raises(EngineError, match=said):
        Convention(**wrong)  # pyright: ignore[reportArgumentType]


def test_the_suffix_may_stand_first_where_the_tokens_do_not_say_so():
    gap = Gap("a = 1\n", "\nb = 2\n")
    usual, turned = (engine(Convention(suffix_first=each)).prompt(gap).tokens for each in (False, True))
    prefix, suffix, middle = ByteTokenizer.prefix, ByteTokenizer.suffix, ByteTokenizer.middle
    assert usual == [prefix, *b"a = 1\n", suffix, *b"\nb = 2\n", middle]
    assert turned == [suffix, *b"\nb = 2\n", prefix, *b"a = 1\n", middle]


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


def dreaming(folder: Path, **stated: object) -> Path:
    """A folder whose own files name code of their repository, as Dream-Coder's do."""
    as_gguf.model("qwen2").save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    foreign = {"model_type": "Dream", "architectures": ["DreamModel"], "auto_map": {"AutoModel": "modeling.Dream"}}
    (folder / "config.json").write_text(json.dumps(config | foreign))
    (folder / STATED).write_text(json.dumps(stated))
    return folder


def test_a_folder_says_by_hand_what_its_files_do_not(tmp_path: Path):
    folder = dreaming(tmp_path / "m", family="qwen2", attention=WHOLE, mask=258)
    found = Safetensors(folder)
    assert (found.architecture.family, found.architecture.convention) == ("qwen2", BOTH_WAYS)
    before = content(folder, tmp_path)
    (folder / STATED).write_text(json.dumps({"family": "qwen2", "attention": WHOLE, "mask": 259}))
    assert content(folder, tmp_path) != before, "it is converted anew"
    (folder / STATED).unlink()
    with pytest.raises(EngineError, match="needs code from its repository"):
        Safetensors(folder)


@pytest.mark.usefixtures("no_tokenizer")
def test_a_converted_folder_is_decoded_as_stated(tmp_path: Path):
    folder = dreaming(tmp_path / "m", family="qwen2", attention=BLOCK, shifted=False, mask=258, block=4)
    one = Engine(dense(folder, tmp_path), ByteTokenizer())
    assert one.model.shape.convention == BLOCKS
    fill = one.fill(Gap("x = ", "\n"), Options(mode="diffusion", max_tokens=6))
    assert fill.reason in ("end", "length")
    assert fill.cost.forwards > 0


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"attention": WHOLE, "mask": 262}, "'mask' cannot be 262"),
        ({"attention": WHOLE, "mask": True}, "'mask' cannot be True"),
        ({"attention": BLOCK, "mask": 3, "block": 2**20}, "pass 2 to 256"),
        ({"attention": 1}, "'attention' cannot be 1"),
        ({"masks": 3}, "has no 'masks'"),
        ({"attention": WHOLE}, "mask token"),
    ],
)
def test_a_wrong_statement_is_refused_in_a_sentence(tmp_path: Path, stated: dict[str, object], said: str):
    with pytest.raises(EngineError, match=said):
        Safetensors(dreaming(tmp_path / "m", family="qwen2", **stated))


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
