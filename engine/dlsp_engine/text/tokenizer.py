"""Tokenizers: the model's own, and one with a token per byte for tests."""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import ClassVar, Protocol

import torch
from tokenizers import Tokenizer as HubTokenizer
from torch import Tensor

from dlsp_engine.errors import Damaged

# How many texts' tokens are cached, and how long such a text may be: most of a prompt was in the one before. A short
# text is quickly tokenized.
CACHED_TEXTS, MIN_CACHED_CHARACTERS, MAX_CACHED_CHARACTERS = 64, 64, 100_000


class Tokenizer(Protocol):
    """The tokenizer interface that the engine needs. The first five attributes are ids of special tokens. `stops` are
    the ids that end a gap, which all special tokens do.
    """

    prefix: int
    suffix: int
    middle: int
    repository: int
    file: int
    stops: frozenset[int]
    words: int  # the ids from 0 to `words` - 1 stand for text
    added: dict[str, int]  # name of each added token, such as `<|im_end|>` -> its id
    spelled: dict[int, bytes]  # the added tokens that stand for text of their own, such as `<tool_call>`

    def encode(self, text: str) -> list[int]: ...

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes that a token stands for; empty for special and unused ids."""
        ...

    def completions(self, start: bytes) -> Tensor:
        """Return the ids that token healing may choose from, int64 [n]: tokens that begin with `start`, and tokens that
        `start` begins with. It is a tensor because a third of the vocabulary begins with a space, and indexing with
        such a list would take milliseconds.
        """
        ...

    def decode(self, tokens: list[int]) -> str: ...


class Spelling:
    """Decoding and token healing, based on `token_bytes` of the ids 0 to `words` - 1."""

    words: int

    def token_bytes(self, token: int) -> bytes:
        raise NotImplementedError

    def decode(self, tokens: list[int]) -> str:
        """Return the text of `tokens`. A character that is cut off at either end becomes U+FFFD."""
        return b"".join(map(self.token_bytes, tokens)).decode("utf-8", "replace")

    @cached_property
    def _sorted(self) -> tuple[list[bytes], Tensor]:
        pairs = sorted((self.token_bytes(i), i) for i in range(self.words))
        return [b for b, _ in pairs], torch.tensor([i for _, i in pairs])

    def completions(self, start: bytes) -> Tensor:
        words, ids = self._sorted
        low, high = bisect_left(words, start), bisect_left(words, start + b"\xff" * 8)
        parts = [start[:end] for end in range(1, len(start))]
        places = [(part, bisect_left(words, part)) for part in parts]
        within = [at for part, at in places if at < len(words) and words[at] == part]
        return torch.cat([ids[low:high], ids[within]]) if within else ids[low:high]


def _byte_alphabet() -> dict[int, int]:
    """Return a table for `str.translate` from GPT-2's printable stand-ins for bytes to the bytes."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [b for b in range(256) if b not in printable]
    return {b: b for b in printable} | {256 + i: b for i, b in enumerate(hidden)}


class QwenTokenizer(Spelling):
    """Qwen2.5-Coder's byte-level BPE, from the `tokenizer.json` beside the converted weights. Raises Damaged if that
    file is missing or damaged.
    """

    prefix, middle, suffix = 151659, 151660, 151661
    repository, file = 151663, 151664
    words = 151643
    stops = frozenset(range(151643, 151936))
    _ALPHABET = _byte_alphabet()

    # The tokens that prompts are made of, which the file must have under these very ids.
    DEMANDED: ClassVar[dict[str, int]] = {
        "<|fim_prefix|>": prefix,
        "<|fim_middle|>": middle,
        "<|fim_suffix|>": suffix,
        "<|repo_name|>": repository,
        "<|file_sep|>": file,
    }

    def __init__(self, folder: Path) -> None:
        path = folder / "tokenizer.json"
        try:
            self._tokenizer = HubTokenizer.from_file(str(path))
        except Exception as error:  # the library raises plain Exception
            raise Damaged(f"{path} is missing or damaged: name the folder of a converted model.") from error
        added = self._tokenizer.get_added_tokens_decoder()
        self.added = {token.content: number for number, token in added.items()}
        self.spelled = {number: token.content.encode() for number, token in added.items() if not token.special}
        # Text is data: characters that spell an added token in a source file, even `<tool_call>`, must not become one.
        self._tokenizer.add_special_tokens(list(self.added))
        self._tokenizer.encode_special_tokens = True
        self.cached = lru_cache(CACHED_TEXTS)(self._tokens)

    def encode(self, text: str) -> list[int]:
        cached = MIN_CACHED_CHARACTERS <= len(text) <= MAX_CACHED_CHARACTERS
        return list(self.cached(text) if cached else self._tokens(text))

    def _tokens(self, text: str) -> Sequence[int]:
        return array("i", self._tokenizer.encode(text, add_special_tokens=False).ids)

    def token_bytes(self, token: int) -> bytes:
        word = self._tokenizer.id_to_token(token) if token < self.words else None
        return word.translate(self._ALPHABET).encode("latin-1") if word else b""


class ByteTokenizer(Spelling):
    """A tokenizer for tests: one token per byte, then the special tokens."""

    words = 256
    prefix, middle, suffix, repository, file, end = range(256, 262)
    stops = frozenset(range(256, 262))

    def __init__(self) -> None:
        self.added = {"<|file|>": self.file, "<|end|>": self.end}
        self.spelled: dict[int, bytes] = {}

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def token_bytes(self, token: int) -> bytes:
        return bytes([token]) if token < 256 else b""
