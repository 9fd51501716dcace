"""The tokenizer that a GGUF file describes, read without transformers."""

import hashlib
import re
from pathlib import Path

import gguf as gguf_format
import pytest
from tokenizers import Tokenizer

from dlsp_engine.errors import EngineError
from dlsp_engine.model import convert
from dlsp_engine.text.from_gguf import tokenizer_from_gguf
from dlsp_engine.text.tokenizer import QwenTokenizer, _byte_alphabet
from tests.engine import as_gguf

# `tokenizer.json` as transformers 5.23 writes it from the 0.5B model's file.
SHA256_BY_TRANSFORMERS = "870929f6937e07fc88e0bc62333a39c5fe97bcbea944ea9d3a6ffcf760ef360d"


def described(path: Path, kind: str = "qwen2") -> gguf_format.GGUFReader:
    """A file with the 256 bytes as words, two merges and three words that no text yields by itself."""
    letters = [chr(code) for code, _ in sorted(_byte_alphabet().items(), key=lambda each: each[1])]
    words = [*letters, "re", "ret", "<|end|>", "<tool>", "[PAD]"]
    types = [gguf_format.TokenType.NORMAL] * 258 + [
        gguf_format.TokenType.CONTROL,
        gguf_format.TokenType.USER_DEFINED,
        gguf_format.TokenType.UNUSED,
    ]
    writer = gguf_format.GGUFWriter(path, "qwen2")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(kind)
    writer.add_token_list(words)
    writer.add_token_types(types)
    writer.add_token_merges(["r e", "re t"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return gguf_format.GGUFReader(path)


def test_words_merges_and_added_tokens_are_the_files(tmp_path: Path):
    tokenizer = tokenizer_from_gguf(described(tmp_path / "m.gguf"))
    ids = tokenizer.encode("return <|end|><tool>é", add_special_tokens=False).ids
    assert ids == [257, *b"urn ", 258, 259, *"é".encode()]
    assert {token: each.special for token, each in tokenizer.get_added_tokens_decoder().items()} == {
        258: True,
        259: False,
    }
    assert tokenizer.get_vocab_size() == 261, "an unused id moves none of the others"
    tokenizer.save(str(tmp_path / "t.json"))
    assert Tokenizer.from_file(str(tmp_path / "t.json")).encode("return").ids == [257, *b"urn"]


def test_another_kind_of_tokenizer_is_refused_in_one_sentence(tmp_path: Path):
    with pytest.raises(EngineError, match="llama-bpe"):
        tokenizer_from_gguf(described(tmp_path / "m.gguf", "llama-bpe"))


@pytest.mark.parametrize(("name", "token"), [("<|fim_prefix|>", 258), ("<|end|>", 3), ("<|end|>", 151659)])
def test_a_token_that_prompts_need_is_demanded_under_its_number(tmp_path: Path, name: str, token: int):
    reader = described(tmp_path / "m.gguf")
    assert tokenizer_from_gguf(reader, {"<|end|>": 258})
    with pytest.raises(EngineError, match=f"no token {re.escape(name)} with the number {token};"):
        tokenizer_from_gguf(reader, {name: token})


def test_a_model_that_cannot_fill_gaps_is_refused_before_its_weights_are_converted(tmp_path: Path):
    as_gguf.write(tmp_path / "m.gguf", as_gguf.model("qwen2", head_dim=16), "qwen2")
    with pytest.raises(EngineError, match=r"no token <\|fim_prefix\|> with the number 151659"):
        convert.converted(tmp_path / "m.gguf", tmp_path, lambda line: None)
    assert not [*tmp_path.rglob("*.safetensors")]


@pytest.mark.model
def test_the_real_file_gives_what_transformers_wrote(gguf: Path, tmp_path: Path):
    reader = gguf_format.GGUFReader(gguf)
    tokenizer_from_gguf(reader, QwenTokenizer.DEMANDED).save(str(tmp_path / "t.json"))
    assert hashlib.sha256((tmp_path / "t.json").read_bytes()).hexdigest() == SHA256_BY_TRANSFORMERS
