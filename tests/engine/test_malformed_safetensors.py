"""Folders of foreign origin: whatever their files say, they are read or refused in one sentence, within bounds."""

import json
import random
import re
import shutil
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from dlsp_engine.errors import EngineError
from dlsp_engine.model.inspect import inspected
from dlsp_engine.text.word_patterns import SPLITS
from tests.engine import as_gguf

FILES = 200
MAX_GROWTH_BYTES = 300e6
MAX_CPU_S = 5.0
VOCAB = 300
HEADER_BYTES = 8

# What stands in place of a value in JSON.
VALUES: list[Any] = [None, -1, 0, 1, 3, 2**31, 2**63, 2**70, 1e308, 0.5, True, "", "x" * 1000, [], {}, [[1]], {"a": {}}]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random model in shards, with a tokenizer."""
    folder = tmp_path_factory.mktemp("whole") / "m"
    as_gguf.model("qwen2", vocab=VOCAB).to(torch.bfloat16).save_pretrained(folder, max_shard_size="60KB")
    words = {word: number for number, word in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    words |= {"Ġi": 256, "Ġin": 257}
    tokenizer = Tokenizer(models.BPE(words, [("Ġ", "i"), ("Ġi", "n")]))  # type: ignore[call-arg]
    split = pre_tokenizers.Split(Regex(SPLITS["qwen2"].patterns[0]), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    tokenizer.add_special_tokens(["<|endoftext|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    assert inspected(folder)["fills"], "it is read as it is"
    return folder


def refusal(folder: Path) -> str:
    """The sentence, or nothing if the checkpoint is read."""
    try:
        inspected(folder)
    except EngineError as error:
        return str(error)
    return ""


def flip_bytes(file: Path, rng: random.Random) -> None:
    """Of the header, if it is a file of tensors: their numbers may be any."""
    content = bytearray(file.read_bytes())
    end = len(content)
    if file.suffix == ".safetensors":
        end = HEADER_BYTES + struct.unpack("<Q", content[:HEADER_BYTES])[0]
    for _ in range(rng.choice((1, 2, 8))):
        content[rng.randrange(end)] = rng.choice((0, 0x22, 0x30, 0x5B, 0x7B, 0xFF, rng.randrange(256)))
    file.write_bytes(content)


def cut(file: Path, rng: random.Random) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: rng.randrange(len(content))])


def lengthen(file: Path, rng: random.Random) -> None:
    with file.open("ab") as stream:
        stream.write(rng.randbytes(rng.choice((1, 1000))))


def other_value(file: Path, rng: random.Random) -> None:
    """One value of the JSON, anywhere, or one entry removed."""
    content = file.read_bytes()
    if file.suffix == ".safetensors":
        (length,) = struct.unpack("<Q", content[:HEADER_BYTES])
        changed = changed_json(content[HEADER_BYTES : HEADER_BYTES + length], rng)
        file.write_bytes(struct.pack("<Q", len(changed)) + changed + content[HEADER_BYTES + length :])
    else:
        file.write_bytes(changed_json(content, rng))


def changed_json(content: bytes, rng: random.Random) -> bytes:
    made = json.loads(content)
    at: Any = made
    while True:
        keys = list(at) if isinstance(at, dict) else range(len(at))
        key = rng.choice(list(keys))
        if not isinstance(at[key], dict | list) or not at[key] or rng.random() < 0.2:
            break
        at = at[key]
    if rng.random() < 0.2:
        del at[key]
    else:
        at[key] = rng.choice(VALUES)
    return json.dumps(made).encode()


def other_length(file: Path, rng: random.Random) -> None:
    """A header that says how long it is, and lies."""
    content = file.read_bytes()
    length = rng.choice((0, 1, len(content), 2**31, 2**63, 2**64 - 1))
    file.write_bytes(struct.pack("<Q", length) + content[HEADER_BYTES:])


ANY: list[Callable[[Path, random.Random], None]] = [flip_bytes, cut, lengthen, other_value]


def damaged(whole: Path, folder: Path, rng: random.Random) -> str:
    """Make a copy with one file damaged, or missing; returns what was done."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    files = sorted(each for each in folder.iterdir() if each.name != "generation_config.json")
    file = rng.choice(files)
    how = rng.choice([*ANY, other_length] if file.suffix == ".safetensors" else ANY)
    how(file, rng)
    return f"{how.__name__} of {file.name}"


def fuzz(whole: Path, folder: Path, seeds: range) -> dict[str, float]:
    """Damage a model once for each seed; returns how many were refused, the slowest time and the growth of memory."""
    process, refused, slowest, growth = psutil.Process(), 0, 0.0, 0
    before = process.memory_info().rss
    for seed in seeds:
        done = damaged(whole, folder, random.Random(seed))
        began = time.process_time()
        said = refusal(folder)
        slowest = max(slowest, time.process_time() - began)
        refused += bool(said)
        assert not said or said.endswith("."), (seed, done, said)
        assert "\n" not in said, (seed, done, said)
        assert len(said) < 1000, (seed, done)
        growth = max(growth, process.memory_info().rss - before)
        assert growth < MAX_GROWTH_BYTES, (seed, done)
        assert slowest < MAX_CPU_S, (seed, done)
    return {"refused": refused, "slowest_cpu_s": round(slowest, 3), "growth_mb": round(growth / 1e6, 1)}


def test_damaged_folders(whole: Path, tmp_path: Path):
    assert fuzz(whole, tmp_path / "m", range(40))["refused"] > 20


@pytest.mark.prove
def test_200_damaged_folders(whole: Path, tmp_path: Path, record_property: Callable[[str, object], None]):
    found = fuzz(whole, tmp_path / "m", range(1000, 1000 + FILES))
    for name, number in found.items():
        record_property("refused_of_200" if name == "refused" else name, number)
    assert found["refused"] > FILES / 2


@pytest.mark.parametrize("content", [b"", b"\0" * 7, b"\xff" * 8, struct.pack("<Q", 2) + b"{}", b"PK\3\4" * 9])
def test_files_that_are_none(whole: Path, tmp_path: Path, content: bytes):
    folder = shutil.copytree(whole, tmp_path / "m")
    for file in folder.glob("*.safetensors"):
        file.write_bytes(content)
    assert refusal(folder).startswith("The engine cannot run m: ")


@pytest.mark.parametrize(
    ("offsets", "reason"),
    [
        ([0, 8], "bytes for"),
        ([4, 132], "does not begin where"),
        ([128, 0], "does not begin where|bytes for"),
        ([0, 2**62], "bytes for|incomplete"),
        ([0, -1], "sizes that no tensor has"),
        ([0, 1e9], "sizes that no tensor has"),
        ([0], "where .* lies"),
    ],
)
def test_places_that_lie(tmp_path: Path, offsets: list[Any], reason: str, whole: Path):
    folder = shutil.copytree(whole, tmp_path / "m")
    for file in folder.glob("model*"):
        file.unlink()
    header = json.dumps({"model.norm.weight": {"dtype": "BF16", "shape": [64], "data_offsets": offsets}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(128))
    assert re.search(reason, refusal(folder))


def test_an_index_leads_to_no_file_outside(whole: Path, tmp_path: Path):
    folder = shutil.copytree(whole, tmp_path / "m")
    shard = min(folder.glob("*.safetensors"))
    shutil.move(shard, tmp_path / shard.name)
    index = folder / "model.safetensors.index.json"
    index.write_text(index.read_text().replace(shard.name, f"../{shard.name}"))
    assert "which is no safetensors file of its folder" in refusal(folder)
