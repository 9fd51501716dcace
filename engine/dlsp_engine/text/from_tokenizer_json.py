"""Builds a `tokenizers.Tokenizer` from the `tokenizer.json` of a checkpoint's folder, of which only words, merges and
added tokens are taken: a regular expression of foreign origin could take forever.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from gguf import TokenType
from tokenizers import Tokenizer

from dlsp_engine.errors import EngineError
from dlsp_engine.model.safetensors_files import Json, read_json
from dlsp_engine.text.from_gguf import WORD_PATTERNS, tokenizer_of

FILE = "tokenizer.json"
# Control tokens by their looks: some files list `<|fim_prefix|>` as text of its own.
CONTROL = re.compile(r"<[|｜].*[|｜]>")


def tokenizer_from_folder(folder: Path, vocab: int, demanded: Mapping[str, int] = MappingProxyType({})) -> Tokenizer:
    """As `tokenizer_from_gguf` does, for a model whose embedding has `vocab` rows."""
    try:
        found = read_json(folder / FILE)
        words, types, merges = _parts(found, vocab)
        kind = _kind(found)
    except FileNotFoundError:
        raise EngineError(f"{folder.name} has no {FILE}, and without it no text can be read or written.") from None
    except OSError as error:
        raise EngineError(f"{error.filename} cannot be read ({error.strerror}).") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineError(f"{FILE} of {folder.name} is damaged or of an unknown kind ({str(error)[:200]}).") from error
    if kind is None:
        raise EngineError(
            f"{folder.name} has a tokenizer that splits text in an unknown way; "
            f"the engine reads byte-level BPE of the kinds {', '.join(WORD_PATTERNS)}."
        )
    return tokenizer_of(words, merges, types, kind, demanded)


def _parts(found: Json, vocab: int) -> tuple[list[str], list[int], list[Any]]:
    """Words and types by id, and merges. Ids that no word has are unused."""
    bpe = cast("Json", found["model"])
    if bpe.get("type", "BPE") != "BPE" or bpe.get("byte_fallback") or bpe.get("continuing_subword_prefix"):
        raise ValueError("it is no byte-level BPE")
    named = [(word, number, TokenType.NORMAL) for word, number in cast("Json", bpe["vocab"]).items()]
    for added in cast("list[Json]", found.get("added_tokens") or []):
        control = added.get("special") is True or CONTROL.fullmatch(added["content"])
        named.append((added["content"], added["id"], TokenType.CONTROL if control else TokenType.USER_DEFINED))
    words, types = [f"[PAD{number}]" for number in range(vocab)], [int(TokenType.UNUSED)] * vocab
    for word, number, kind in named:
        if type(number) is not int or not 0 <= number < vocab:
            raise ValueError(f"{word[:40]!r} has the number {number}, and the model {vocab} tokens")
        if types[number] == TokenType.UNUSED or words[number] == word:
            words[number], types[number] = word, int(kind)
        else:
            raise ValueError(f"{word[:40]!r} and {words[number][:40]!r} have one number")
    return words, types, bpe["merges"]


def _kind(found: Json) -> str | None:
    """The scheme whose regular expression splits text before merges, by GGUF's name; None if it is unknown."""
    steps = found.get("pre_tokenizer") or {}
    parts: list[Json] = steps.get("pretokenizers", [steps])
    plain = {"type": "Split", "behavior": "Isolated", "invert": False}
    patterns = [each["pattern"].get("Regex") for each in parts if each.items() >= plain.items()]
    others = [each.get("type") for each in parts if each.get("type") != "Split"]
    known = {pattern: kind for kind, pattern in WORD_PATTERNS.items()}
    return known.get(patterns[0]) if len(patterns) == 1 and others == ["ByteLevel"] else None
