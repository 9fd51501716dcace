"""Each family of models from a GGUF file: sizes of heads and positions against transformers, invariant 1, and greedy
texts against llama.cpp.
"""

import math
import random
from pathlib import Path
from typing import Any

import pytest

from dlsp_engine.engine import Engine
from dlsp_engine.model.rows import Rows
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap
from dlsp_engine.text.tokenizer import ByteTokenizer
from tests.engine import as_gguf
from tests.engine.test_family_table import (
    TEXT,
    dense,
    difference,
    int8,
    needs_int8,
    no_tokenizer,  # noqa: F401 - a fixture
)

pytestmark = pytest.mark.usefixtures("no_tokenizer", "one_thread")

FAMILIES = ["qwen2", "qwen3", "llama", "starcoder2"]
TOKENS = 16
TIES = {"F32": 0.02, "Q8_0": 0.2, "Q5_0": 0.2}  # of the logits' spread, by the kind of matrices


@needs_int8
@pytest.mark.parametrize("head_dim", [64, 80, 96, 128, 256])
@pytest.mark.parametrize("family", ["qwen3", "llama", "starcoder2"])
def test_sizes_of_heads(tmp_path: Path, family: str, head_dim: int):
    as_gguf.write(tmp_path / "m.gguf", made := as_gguf.model(family, head_dim=head_dim), family)
    assert difference(dense(tmp_path / "m.gguf", tmp_path), made) < 1e-4
    assert difference(int8(tmp_path / "m.gguf", tmp_path), made) < 0.05


def test_positions_scaled_as_in_llama_3(tmp_path: Path):
    theta, factor, low, high, length = 100.0, 8.0, 1.0, 4.0, 16
    scaling = {"factor": factor, "low_freq_factor": low, "high_freq_factor": high}
    rope = {"rope_type": "llama3", "rope_theta": theta, "original_max_position_embeddings": length} | scaling
    made = as_gguf.model("llama", head_dim=16, rope_parameters=rope)
    divisors = []
    for i in range(8):
        turns = length * theta ** (-2 * i / 16) / (2 * math.pi)  # within the length that it was trained with first
        smooth = (turns - low) / (high - low)
        divisors.append(1 / ((1 - smooth) / factor + smooth) if 0 < smooth < 1 else 1.0 if smooth >= 1 else factor)
    assert len(set(divisors)) > 2, "all three cases"
    as_gguf.write(tmp_path / "m.gguf", made, "llama", divisors)
    assert difference(dense(tmp_path / "m.gguf", tmp_path), made) < 1e-4
    as_gguf.write(tmp_path / "plain.gguf", made, "llama")
    assert difference(dense(tmp_path / "plain.gguf", tmp_path), made) > 1e-2, "the scaling tells"


@needs_int8
@pytest.mark.parametrize("load", [dense, int8])
@pytest.mark.parametrize("family", FAMILIES)
def test_verified_is_autoregressive(tmp_path: Path, family: str, load: Any):
    """Invariant 1, with random, copied and right drafts, and without a canvas adapter."""
    as_gguf.write(tmp_path / "m.gguf", as_gguf.model(family), family)
    engine = Engine(load(tmp_path / "m.gguf", tmp_path), ByteTokenizer(), dtype=load.__name__)
    rng = random.Random(7)
    gaps = [Gap("a = [1, 2, 3, 4]\nb = [1, 2, 3, ", "\n"), Gap("x é", "日本"), Gap("", "")]
    for gap in gaps:
        expected = engine.fill(gap, Options(mode="autoregressive", max_tokens=24))
        start = expected.cost.prompt_tokens

        def right(tokens: list[int], expected: Any = expected, start: int = start) -> list[int]:
            return list(expected.tokens[len(tokens) - start :][:5])

        def spoiled(tokens: list[int]) -> list[int]:
            return [t if rng.random() < 0.7 else rng.randrange(262) for t in right(tokens)]

        for draft in (right, spoiled, lambda tokens: [rng.randrange(262) for _ in range(4)], None):
            drafter = draft and (lambda tokens, draft=draft: (drafted := draft(tokens), [0.8] * len(drafted)))
            fill = engine.fill(gap, Options(max_tokens=24), drafter=drafter)
            assert (fill.tokens, fill.text, fill.reason) == (expected.tokens, expected.text, expected.reason)
            if draft is right and len(expected.tokens) > 8:
                assert fill.cost.tau > 2, "right drafts must pay"


@pytest.mark.parametrize("kind", TIES)
@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_texts_of_llama_cpp(tmp_path: Path, family: str, kind: str):
    """llama.cpp reads the same file. Up to ties: it computes with inputs of 8 bits, and holds keys and values in
    float16, so a token that it takes must be within its rounding of our best one.
    """
    from bench.peers.llama import Llama
    from bench.peers.side import Ask

    as_gguf.write(tmp_path / "m.gguf", as_gguf.model(family, head_dim=16), family, kind=kind)
    ours, theirs = dense(tmp_path / "m.gguf", tmp_path), Llama(tmp_path / "m.gguf", ngram=False, threads=1, context=256)
    words = as_gguf.words(262)
    same = every = 0
    for first in range(4):
        prompt = [first, *TEXT]
        asked = Ask("", "", "", tuple(prompt), "token", TOKENS)
        text = theirs.answer(asked, "autoregressive").text
        for word in [text[at : at + 2] for at in range(0, len(text), 2)]:
            rows = Rows()
            rows.add_clean(prompt, 0)
            logits = ours.head(ours.forward([(ours.new_cache(), rows)]))[-1]
            token = words.index(word)
            assert logits.max() - logits[token] < TIES[kind] * logits.std(), (first, len(prompt))
            same += int(logits.argmax() == token)
            every += 1
            prompt.append(token)
    assert every > 2 * TOKENS
    assert same > 0.9 * every
