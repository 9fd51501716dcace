"""The comparison with llama.cpp on a tiny model, and a model that is another one than llama.cpp's."""

from pathlib import Path

import pytest

from bench.greedy import compared, dequantised
from bench.peers.llama import Llama
from dlsp_engine.engine import Engine
from dlsp_engine.text.prompt import Gap
from tests.engine import as_gguf
from tests.engine.test_word_patterns import VOCAB, byte_bpe

TEXT = "def f(x):\n\tif x  ==  12345:"


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("family", ["qwen2", "qwen3", "llama", "starcoder2"])
def test_from_a_file_to_its_answers(tmp_path: Path, family: str):
    """With the file's own tokenizer, which has no tokens for gaps."""
    paths = [tmp_path / f"{name}.gguf" for name in ("m", "other")]
    for path, theta in zip(paths, (1e4, 3e1), strict=True):
        made = as_gguf.model(family, head_dim=16, vocab=VOCAB, rope_parameters={"rope_theta": theta})
        as_gguf.write(path, made, family, tokenizer=byte_bpe("starcoder"))
    engine = Engine.load(paths[0], tmp_path, "float32")
    same, other = (compared(engine, Llama(path, False, 1, context=256), TEXT, 24) for path in paths)
    assert engine.prompt(Gap(TEXT, "")).tokens[0] == VOCAB - 1, "the token that begins a text"
    assert same.tokens == 24
    assert same.ties == len(same.behind) < 6
    assert same.verified_same
    assert other.ties < len(other.behind), "another model's tokens are no ties"


@pytest.mark.usefixtures("one_thread")
def test_with_the_engine_s_own_weights_llama_cpp_writes_the_same(tmp_path: Path):
    made = as_gguf.model("llama", head_dim=16, vocab=VOCAB)
    as_gguf.write(path := tmp_path / "m.gguf", made, "llama", kind="Q4_1", tokenizer=byte_bpe("smollm"))
    engine = Engine.load(path, tmp_path, "float32")
    own = dequantised(path, tmp_path, rounded=True)
    assert own.stat().st_size > path.stat().st_size
    same = compared(engine, Llama(own, False, 1, context=256), TEXT, 24)
    assert same.tokens == 24
    assert max(same.behind, default=0.0) < 0.05
