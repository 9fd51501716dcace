"""A tokenizer from a folder's `tokenizer.json`: what is taken of it, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from dlsp_engine.errors import EngineError
from dlsp_engine.text.from_tokenizer_json import tokenizer_from_folder
from dlsp_engine.text.tokenizer import ModelTokenizer
from dlsp_engine.text.word_patterns import SPLITS

ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())
VOCAB = 300


@pytest.fixture
def content() -> dict[str, Any]:
    """As the hub's libraries write it."""
    words = {word: number for number, word in enumerate([*ALPHABET, "Ġx", "de", "def"])}
    merges = [("Ġ", "x"), ("d", "e"), ("de", "f")]
    tokenizer = Tokenizer(models.BPE(words, merges))  # type: ignore[call-arg]
    split = pre_tokenizers.Split(Regex(SPLITS["qwen2"].patterns[0]), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.add_tokens(["<|fim_prefix|>", "<tool_call>"])
    return json.loads(tokenizer.to_str())


def read(folder: Path, content: Any) -> Tokenizer:
    (folder / "tokenizer.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return tokenizer_from_folder(folder, VOCAB)


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
        (change("model", "type", "Unigram"), "no BPE of bytes or SentencePiece's"),
        (change("model", "byte_fallback", True), "splits text in an unknown way"),
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


DIGITS = {"type": "Digits", "individual_digits": True}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
LINE_BREAKS = {"type": "Split", "pattern": {"Regex": "[\r\n]"}, "behavior": "Isolated", "invert": False}


def parts(kind: str) -> list[dict[str, Any]]:
    """Steps that split by regular expressions, as files write them."""
    by = [LINE_BREAKS | {"pattern": {"Regex": pattern}} for pattern in SPLITS[kind].patterns]
    return [*by, BYTES | {"use_regex": False}]


@pytest.mark.parametrize(
    "steps",
    [
        BYTES,
        {"type": "Sequence", "pretokenizers": [DIGITS, BYTES]},
        {"type": "Sequence", "pretokenizers": parts("llama-bpe")},
        {"type": "Sequence", "pretokenizers": parts("seed-coder")},
        {
            "type": "Sequence",
            "pretokenizers": [LINE_BREAKS, *parts("deepseek-coder")[1:-2], DIGITS, parts("gpt-2")[-1]],
        },
    ],
)
def test_other_ways_to_split_text(tmp_path: Path, content: dict[str, Any], steps: dict[str, Any]):
    made = read(tmp_path, content | {"pre_tokenizer": steps})
    theirs = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in ("def f(x):\n    return x12  + 345\r\n\n", "é 日本\r\n12 don't", "  "):
        assert made.encode(text, add_special_tokens=False).ids == theirs.encode(text, add_special_tokens=False).ids


def test_the_token_before_every_text(tmp_path: Path, content: dict[str, Any]):
    begin = {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    content["post_processor"] = {"type": "TemplateProcessing", "single": [begin, text], "pair": [text, text]}
    content["post_processor"]["special_tokens"] = {}
    (tmp_path / "made").mkdir()
    read(tmp_path, content).save(str(tmp_path / "made" / "tokenizer.json"))
    assert ModelTokenizer(tmp_path / "made").template.start == (259,)


def test_sentencepiece_as_the_hub_s_libraries_write_it(tmp_path: Path):
    words = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *"▁def(x):", "de", "def", "▁x"]
    bpe: Any = models.BPE(
        {word: number for number, word in enumerate(words)},
        [("d", "e"), ("de", "f"), ("▁", "x")],
        unk_token="<unk>",
        fuse_unk=True,
        byte_fallback=True,
    )
    tokenizer = Tokenizer(bpe)
    spaces = normalizers.Replace(" ", "▁")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), spaces])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "made").mkdir()
    tokenizer_from_folder(tmp_path, VOCAB).save(str(tmp_path / "made" / "tokenizer.json"))
    made = ModelTokenizer(tmp_path / "made")
    text = "def x(y): é\n</s>"
    assert made.encode(" " + text) == tokenizer.encode(text, add_special_tokens=False).ids[:-1] + made.encode("</s>")
    assert made.decode(made.encode(text)) == text
    assert (made.words, made.stops) == (len(words), {0, 1, 2, *range(len(words), VOCAB)})
