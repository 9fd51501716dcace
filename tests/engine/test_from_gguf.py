"""The tokenizer that a GGUF file describes, read without transformers."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import gguf as gguf_format
import pytest
from tokenizers import Tokenizer

from dlsp_engine.errors import EngineError
from dlsp_engine.text.from_gguf import tokenizer_from_gguf
from dlsp_engine.text.tokenizer import ModelTokenizer, _byte_alphabet

# `tokenizer.json` as transformers 5.23 writes it from the 0.5B model's file.
SHA256_BY_TRANSFORMERS = "870929f6937e07fc88e0bc62333a39c5fe97bcbea944ea9d3a6ffcf760ef360d"


def described(
    path: Path,
    kind: str = "qwen2",
    model: str = "gpt2",
    unused: str = "[PAD]",
    marks: Callable[[gguf_format.GGUFWriter], object] = lambda writer: None,
) -> gguf_format.GGUFReader:
    """A file with the 256 bytes as words, two merges and three words that no text yields by itself."""
    letters = [chr(code) for code, _ in sorted(_byte_alphabet().items(), key=lambda each: each[1])]
    words = [*letters, "re", "ret", "<|end|>", "<tool>", unused]
    types = [gguf_format.TokenType.NORMAL] * 258 + [
        gguf_format.TokenType.CONTROL,
        gguf_format.TokenType.USER_DEFINED,
        gguf_format.TokenType.UNUSED,
    ]
    writer = gguf_format.GGUFWriter(path, "qwen2")
    writer.add_tokenizer_model(model)
    writer.add_tokenizer_pre(kind)
    writer.add_token_list(words)
    writer.add_token_types(types)
    writer.add_token_merges(["r e", "re t"])
    marks(writer)
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
    with pytest.raises(EngineError, match=r"splits text into words by 'own'.*safetensors"):
        tokenizer_from_gguf(described(tmp_path / "m.gguf", "own"))
    with pytest.raises(EngineError, match=r"of the kind 't5'.*take another file"):
        tokenizer_from_gguf(described(tmp_path / "m.gguf", model="t5"))


def test_a_token_that_ends_a_text_is_special_and_one_begins_it(tmp_path: Path):
    def marks(writer: gguf_format.GGUFWriter) -> None:
        writer.add_eos_token_id(259)
        writer.add_bos_token_id(258)
        writer.add_add_bos_token(True)

    tokenizer_from_gguf(described(tmp_path / "m.gguf", marks=marks)).save(str(tmp_path / "tokenizer.json"))
    tokenizer = ModelTokenizer(tmp_path)
    assert tokenizer.template.start == (258,)
    assert (tokenizer.stops, tokenizer.words) == ({258, 259}, 261)
    assert tokenizer.encode("return") == [257, *b"urn"], "only prompts begin with it"


def test_the_last_unused_words_stand_for_no_text(tmp_path: Path):
    tokenizer_from_gguf(described(tmp_path / "m.gguf", unused="[PAD260]")).save(str(tmp_path / "tokenizer.json"))
    tokenizer = ModelTokenizer(tmp_path)
    assert (tokenizer.words, tokenizer.stops) == (258, {258, 259, 260})
    assert [tokenizer.token_bytes(token) for token in (ord("a"), 257, 258, 260, 999)] == [b"a", b"ret", b"", b"", b""]


@pytest.mark.model
def test_the_real_file_gives_what_transformers_wrote(gguf: Path, tmp_path: Path):
    reader = gguf_format.GGUFReader(gguf)
    tokenizer_from_gguf(reader).save(str(tmp_path / "t.json"))
    assert hashlib.sha256((tmp_path / "t.json").read_bytes()).hexdigest() == SHA256_BY_TRANSFORMERS
