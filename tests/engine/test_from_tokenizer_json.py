"""A tokenizer from a folder's `tokenizer.json`: what is taken of it, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

from dlsp_engine.errors import EngineError
from dlsp_engine.text.from_gguf import WORD_PATTERNS
from dlsp_engine.text.from_tokenizer_json import tokenizer_from_folder

ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())
VOCAB = 300


@pytest.fixture
def content() -> dict[str, Any]:
    """As the hub's libraries write it."""
    words = {word: number for number, word in enumerate([*ALPHABET, "Ġx", "de", "def"])}
    merges = [("Ġ", "x"), ("d", "e"), ("de", "f")]
    tokenizer = Tokenizer(models.BPE(words, merges))  # type: ignore[call-arg]
    split = pre_tokenizers.Split(Regex(WORD_PATTERNS["qwen2"]), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.add_tokens(["<|fim_prefix|>", "<tool_call>"])
    return json.loads(tokenizer.to_str())


def read(folder: Path, content: Any, demanded: dict[str, int] | None = None) -> Tokenizer:
    (folder / "tokenizer.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return tokenizer_from_folder(folder, VOCAB, demanded or {})


@pytest.mark.parametrize("paired", [True, False])
def test_it_tokenizes_as_the_file_s_own_does(tmp_path: Path, content: dict[str, Any], paired: bool):
    content["model"]["merges"] = [pair if paired else " ".join(pair) for pair in content["model"]["merges"]]
    made = read(tmp_path, content)
    theirs = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in ("def f(x):\n    return x", "é 日本\r\n12", "x<|endoftext|>y <tool_call>"):
        ids = made.encode(text, add_special_tokens=False).ids
        assert ids == theirs.encode(text, add_special_tokens=False).ids
        assert made.decode(ids, skip_special_tokens=False) == text
    assert made.get_vocab_size() == VOCAB, "no id changes, unused ones included"


def test_tokens_that_look_like_control_are(tmp_path: Path, content: dict[str, Any]):
    added = read(tmp_path, content).get_added_tokens_decoder().values()
    assert {token.content: token.special for token in added} == {
        "<|endoftext|>": True,
        "<|fim_prefix|>": True,
        "<tool_call>": False,
    }


def change(*path: Any) -> Callable[[dict[str, Any]], None]:
    """Set the value at a path of keys, whose last element it is."""

    def how(content: Any) -> None:
        *keys, last, value = path
        for key in keys:
            content = content[key]
        content[last] = value

    return how


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (change("model", "type", "Unigram"), "no byte-level BPE"),
        (change("model", "byte_fallback", True), "no byte-level BPE"),
        (change("model", "vocab", "x", -1), "the number -1"),
        (change("model", "vocab", "x", VOCAB), "the number 300, and the model 300 tokens"),
        (change("model", "vocab", "x", 0), "have one number"),
        (change("model", "vocab", [1]), "damaged or of an unknown kind"),
        (change("model", "merges", [["d", "q q"]]), "tokenizer is damaged"),
        (change("model", "merges", ["d"]), "tokenizer is damaged"),
        (change("model", "merges", 3), "tokenizer is damaged"),
        (change("added_tokens", [{"id": "7"}]), "damaged or of an unknown kind"),
        (change("model", []), "damaged or of an unknown kind"),
        (change("pre_tokenizer", None), "splits text in an unknown way"),
        (change("pre_tokenizer", "pretokenizers", 0, "pattern", {"Regex": "(a+)+$"}), "splits text in an unknown way"),
        (change("pre_tokenizer", "pretokenizers", 0, "behavior", "Removed"), "splits text in an unknown way"),
        (change("pre_tokenizer", "pretokenizers", [7]), "damaged or of an unknown kind"),
    ],
)
def test_what_is_refused(tmp_path: Path, content: dict[str, Any], how: Callable[[dict[str, Any]], None], reason: str):
    how(content)
    with pytest.raises(EngineError) as refused:
        read(tmp_path, content)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["{", "[" * 100_000, "[]", '{"model": 1, "model": 2}', "[" * 2_000_000, "," * 5_000_000]
)
def test_what_is_no_json_object(tmp_path: Path, text: str):
    with pytest.raises(EngineError, match="damaged or of an unknown kind"):
        read(tmp_path, text)


def test_a_folder_without_one(tmp_path: Path):
    with pytest.raises(EngineError, match=r"has no tokenizer\.json"):
        tokenizer_from_folder(tmp_path, VOCAB)


def test_tokens_that_gaps_are_filled_by_must_be_there(tmp_path: Path, content: dict[str, Any]):
    assert read(tmp_path, content, {"<|fim_prefix|>": 260})
    with pytest.raises(EngineError, match=r"has no token <\|fim_prefix\|> with the number 259"):
        read(tmp_path, content, {"<|fim_prefix|>": 259})
