"""GGUF files of foreign origin: whatever a header says, a file is read or refused in one sentence, within bounds."""

import random
import struct
import time
from collections.abc import Callable
from pathlib import Path

import gguf
import psutil
import pytest

from dlsp_engine.errors import EngineError
from dlsp_engine.model.gguf_checkpoint import Gguf
from dlsp_engine.text.from_gguf import tokenizer_from_gguf
from tests.engine import as_gguf

FILES = 200
MAX_GROWTH_BYTES = 300e6
MAX_CPU_S = 5.0


def with_a_merge(writer: gguf.GGUFWriter, vocab: int) -> None:
    """A tokenizer that can be read: both sides of its merge are words."""
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([*as_gguf.words(vocab - 2), "a", "<end>"])
    writer.add_token_types([gguf.TokenType.NORMAL] * (vocab - 1) + [gguf.TokenType.CONTROL])
    writer.add_token_merges(["a a"])
    writer.add_eos_token_id(vocab - 1)
    writer.add_add_bos_token(False)


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    made = as_gguf.model("qwen2", head_dim=16)
    as_gguf.write(path := tmp_path / "whole.gguf", made, "qwen2", tokenizer=with_a_merge)
    content = path.read_bytes()
    assert refusal(path, content) == "", "it is read as it is"
    return content


def refusal(path: Path, content: bytes) -> str:
    """The sentence, or nothing if the file is read."""
    path.write_bytes(content)
    try:
        tokenizer_from_gguf(Gguf(path).reader)
    except EngineError as error:
        return str(error)
    return ""


def test_fuzzed_headers(tmp_path: Path, whole: bytes, record_property: Callable[[str, object], None]):
    rng = random.Random(1)
    header = whole.index(b"blk.1.ffn_norm.weight") + 100
    process, refused, slowest, growth = psutil.Process(), 0, 0.0, 0
    before = process.memory_info().rss
    for _ in range(FILES):
        content = bytearray(whole)
        for _ in range(rng.choice((1, 2, 8))):
            at = rng.randrange(header)
            content[at] = rng.choice((0, 1, 0x7F, 0xFF, rng.randrange(256)))
        cut = rng.choice((None, None, rng.randrange(len(whole))))
        began = time.process_time()
        said = refusal(tmp_path / "m.gguf", bytes(content[:cut]))
        slowest = max(slowest, time.process_time() - began)
        refused += bool(said)
        assert not said or said.endswith("."), said
        assert "\n" not in said
        growth = max(growth, process.memory_info().rss - before)
        assert growth < MAX_GROWTH_BYTES
    record_property("refused_of_200", refused)
    record_property("slowest_cpu_s", round(slowest, 3))
    record_property("growth_mb", round(growth / 1e6, 1))
    assert slowest < MAX_CPU_S
    assert refused > FILES / 2


def replaced(content: bytes, key: str, form: str, value: int) -> bytes:
    """With another value of a metadata entry of a fixed type."""
    at = content.index(key.encode()) + len(key) + 4
    return content[:at] + struct.pack(form, value) + content[at + struct.calcsize(form) :]


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("qwen2.block_count", 2**31, "layers, and it has"),
        ("qwen2.block_count", 1, "blk.1"),
        ("qwen2.block_count", 0, "positive number"),
        ("qwen2.embedding_length", 2**32 - 64, "has the shape"),
        ("qwen2.attention.head_count", 3, "do not go with each other"),
        ("qwen2.attention.head_count_kv", 0, "positive number"),
        ("qwen2.feed_forward_length", 97, "has the shape"),
        ("qwen2.rope.dimension_count", 8, "positions turn only a part"),
    ],
)
def test_sizes_that_lie(tmp_path: Path, whole: bytes, key: str, value: int, reason: str):
    assert reason in refusal(tmp_path / "m.gguf", replaced(whole, key, "<I", value))


@pytest.mark.parametrize("count", [2**63, 2**31, 5_000_000])
def test_counts_that_no_memory_holds(tmp_path: Path, whole: bytes, count: int):
    """The `gguf` package would make an object for each element, there or not."""
    key = b"tokenizer.ggml.token_type"
    at = whole.index(key) + len(key) + 4 + 4
    assert "elements of arrays" in refusal(tmp_path / "m.gguf", whole[:at] + struct.pack("<Q", count) + whole[at + 8 :])
    assert "entries of metadata" in refusal(tmp_path / "m.gguf", whole[:16] + struct.pack("<Q", count) + whole[24:])


@pytest.mark.parametrize("damage", [(b"a a", b"a_a"), (b"a a", b"a q")])
def test_tokenizers_that_do_not_fit(tmp_path: Path, whole: bytes, damage: tuple[bytes, bytes]):
    assert "tokenizer is damaged" in refusal(tmp_path / "m.gguf", whole.replace(*damage))
