"""Tokenizers: the model's own, and one with a token per byte for tests."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Protocol

import torch
from tokenizers import Tokenizer as HubTokenizer
from tokenizers import decoders
from torch import Tensor

from dlsp_engine.errors import Damaged
from dlsp_engine.text import template as templates
from dlsp_engine.text.template import Fim, Template

# How many texts' tokens are cached, and how long such a text may be: most of a prompt was in the one before. A short
# text is quickly tokenized.
CACHED_TEXTS, MIN_CACHED_CHARACTERS, MAX_CACHED_CHARACTERS = 64, 64, 100_000

SPACE = "▁"  # SentencePiece's stand-in for a space
_BYTE = re.compile("<0x([0-9A-F]{2})>")  # its words for bytes that are no character of the vocabulary


class Tokenizer(Protocol):
    """The tokenizer interface that the engine needs. `stops` are the ids that end a gap: all special tokens do."""

    template: Template
    stops: frozenset[int]
    words: int  # no id from here on stands for text
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


class ModelTokenizer(Spelling):
    """A checkpoint's own tokenizer, from the `tokenizer.json` beside the converted weights: BPE, of bytes or, as
    SentencePiece has it, of characters. Raises Damaged if that file is missing or damaged.
    """

    _ALPHABET = _byte_alphabet()

    def __init__(self, folder: Path) -> None:
        path = folder / "tokenizer.json"
        try:
            self._tokenizer = HubTokenizer.from_file(str(path))
        except Exception as error:  # the library raises plain Exception
            raise Damaged(f"{path} is missing or damaged: name the folder of a converted model.") from error
        self._of_bytes = isinstance(self._tokenizer.decoder, decoders.ByteLevel)
        # Text is data: characters that spell an added token in a source file, even `<tool_call>`, must not become one.
        # Some files have the tokens of gaps as ordinary words.
        fim = templates.format_of(self._tokenizer.token_to_id)
        known = fim.names if fim else []
        added = self._tokenizer.get_added_tokens_decoder()
        self.spelled = {
            number: token.content.encode()
            for number, token in added.items()
            if not token.special and token.content not in known
        }
        self._tokenizer.add_special_tokens([*known, *(token.content for token in added.values())])
        self._tokenizer.encode_special_tokens = True
        added = self._tokenizer.get_added_tokens_decoder()
        self.added = {token.content: number for number, token in added.items()}
        size = self._tokenizer.get_vocab_size(with_added_tokens=True)
        self.words = size
        while self.words and (self.words - 1 in added or self._unused(self.words - 1)):
            self.words -= 1
        self.stops = frozenset([*added, *range(self.words, size)])
        self.template = templates.found(self.added, self._start())
        self.cached = lru_cache(CACHED_TEXTS)(self._tokens)

    def _unused(self, token: int) -> bool:
        """Whether no text has this id: files fill a vocabulary up with such words."""
        return self._tokenizer.id_to_token(token) in (None, f"[PAD{token}]")

    def _start(self) -> tuple[int, ...]:
        """Return the tokens that are set before every text."""
        encoded = self._tokenizer.encode("a", add_special_tokens=True)
        first = encoded.special_tokens_mask.index(0) if 0 in encoded.special_tokens_mask else 0
        return tuple(encoded.ids[:first])

    def encode(self, text: str) -> list[int]:
        cached = MIN_CACHED_CHARACTERS <= len(text) <= MAX_CACHED_CHARACTERS
        return list(self.cached(text) if cached else self._tokens(text))

    def _tokens(self, text: str) -> Sequence[int]:
        return array("i", self._tokenizer.encode(text, add_special_tokens=False).ids)

    def token_bytes(self, token: int) -> bytes:
        word = self._tokenizer.id_to_token(token) if token < self.words and token not in self.stops else None
        if not word:
            return b""
        if self._of_bytes:
            word = word.translate(self._ALPHABET)
            return word.encode("latin-1" if max(word) < "\u0100" else "utf-8")
        byte = _BYTE.fullmatch(word)
        return bytes([int(byte[1], 16)]) if byte else word.replace(SPACE, " ").encode()


class ByteTokenizer(Spelling):
    """A tokenizer for tests: one token per byte, then the special tokens."""

    words = 256
    prefix, middle, suffix, repository, file, end = range(256, 262)
    template = Template((), Fim(prefix, suffix, middle), repository, file)
    stops = frozenset(range(256, 262))

    def __init__(self) -> None:
        self.added = {"<|file|>": self.file, "<|end|>": self.end}
        self.spelled: dict[int, bytes] = {}

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def token_bytes(self, token: int) -> bytes:
        return bytes([token]) if token < 256 else b""
