"""Tokens of the same GGUF file by the engine and by llama.cpp, for each way of splitting text into words."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import gguf
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from dlsp_engine.text.from_gguf import tokenizer_from_gguf
from dlsp_engine.text.tokenizer import ModelTokenizer
from dlsp_engine.text.word_patterns import SPLITS
from tests.engine import as_gguf

VOCAB = 900
TEXTS = [
    "def f(x):\n\tif x  ==  12345:\n        return x['a'] + x[\"b\"]  # don't, we'll\n\n\n",
    "public static void main(String[] args) {\r\n    int i = 0x1F; i++;\r\n}\r\n",
    "é日本語テキスト한국어 ∑x² — “quoted”…  🙂 x\u00a0y z",
    "  \n \t\n   trailing   ",
    "a1b22c333d4444 3.14159e-10 __init__ camelCaseName HTTPServer",
    "",
]


def trained() -> Tokenizer:
    """Merges that cross every boundary between words: only the splitting keeps them apart."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer: Any = trainers.BpeTrainer(vocab_size=VOCAB - 1, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator([text * 3 for text in TEXTS], trainer)
    return made


def byte_bpe(pre: str) -> Any:
    model = json.loads(trained().to_str())["model"]

    def write(writer: gguf.GGUFWriter, vocab: int) -> None:
        words = sorted(model["vocab"], key=model["vocab"].get)
        words += [f"<unused{number}>" for number in range(len(words), vocab - 1)]
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(pre)
        writer.add_token_list([*words, "<|end|>"])
        writer.add_token_types([gguf.TokenType.NORMAL] * (vocab - 1) + [gguf.TokenType.CONTROL])
        writer.add_token_merges([" ".join(pair) for pair in model["merges"]])
        writer.add_eos_token_id(vocab - 1)
        writer.add_bos_token_id(vocab - 1)
        writer.add_add_bos_token(True)

    return write


def sentencepiece(writer: gguf.GGUFWriter, vocab: int) -> None:
    """Words of one to four characters, and of bytes."""
    pieces = dict.fromkeys(char for text in TEXTS[:2] for char in text.replace(" ", "▁") if char not in "\r\n")
    for length in (2, 3, 4):
        for text in TEXTS[:2]:
            line = text.replace(" ", "▁")
            pieces |= dict.fromkeys(line[at : at + length] for at in range(len(line) - length + 1))
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    words = [*special, *(piece for piece in pieces if "\n" not in piece and "\r" not in piece)][:vocab]
    assert len(words) == vocab
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.BYTE] * 256
    writer.add_tokenizer_model("llama")
    writer.add_token_list(words)
    writer.add_token_types([*kinds, *[gguf.TokenType.NORMAL] * (vocab - len(kinds))])
    writer.add_token_scores([-float(number * 7919 % vocab) for number in range(vocab)])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_space_prefix(False)


def both(path: Path, vocab: int, tokenizer: Any) -> tuple[ModelTokenizer, Any]:
    """Our tokenizer, and llama.cpp's as a function of a text."""
    as_gguf.write(path, as_gguf.model("llama", head_dim=16, vocab=vocab), "llama", tokenizer=tokenizer)
    tokenizer_from_gguf(gguf.GGUFReader(path)).save(str(path.with_name("tokenizer.json")))
    xllamacpp: Any = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.ui, params.verbosity = str(path), 64, False, -1
    params.fit_params, params.warmup = False, False
    server = xllamacpp.Server(params)

    def theirs(text: str, special: bool = False) -> list[int]:
        body = json.dumps({"content": text, "parse_special": False, "add_special": special}).encode()
        asked = Request(f"{server.listening_address}/tokenize", body, {"Content-Type": "application/json"})
        with urlopen(asked, timeout=60) as answer:
            return json.load(answer)["tokens"]

    return ModelTokenizer(path.parent), theirs


@pytest.mark.parametrize("pre", SPLITS)
def test_tokens_of_llama_cpp(tmp_path: Path, pre: str):
    ours, theirs = both(tmp_path / "m.gguf", VOCAB, byte_bpe(pre))
    for text in TEXTS:
        assert ours.encode(text) == theirs(text), text
        assert ours.decode(ours.encode(text)) == text
    assert list(ours.template.start) == theirs("", True) == [VOCAB - 1]
    assert ours.encode("<|end|>")[-1] != VOCAB - 1, "text is data"


def test_tokens_of_llama_cpp_by_sentencepiece(tmp_path: Path):
    ours, theirs = both(tmp_path / "m.gguf", 500, sentencepiece)
    for text in TEXTS:
        assert ours.encode(text) == theirs(text), text
        assert ours.decode(ours.encode(text)) == text
    assert list(ours.template.start) == theirs("", True) == [1]
    assert ours.stops == {0, 1, 2}
