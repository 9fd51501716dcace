"""Builds a `tokenizers.Tokenizer` from the `tokenizer.json` of a checkpoint's folder, of which only words, merges and
added tokens are taken: a regular expression of foreign origin could take forever.
"""

import re
from pathlib import Path
from typing import Any, cast

from gguf import TokenType
from tokenizers import Tokenizer

from dlsp_engine.errors import EngineError
from dlsp_engine.model.safetensors_files import Json, read_json
from dlsp_engine.text.bpe import tokenizer_of
from dlsp_engine.text.tokenizer import SPACE
from dlsp_engine.text.word_patterns import GPT2, SPLITS, Split

FILE = "tokenizer.json"
# Control tokens by their looks: some files list `<|fim_prefix|>` as text of its own.
CONTROL = re.compile(r"<[|｜].*[|｜]>")


def tokenizer_from_folder(folder: Path, vocab: int) -> Tokenizer:
    """As `tokenizer_from_gguf` does, for a model whose embedding has `vocab` rows."""
    try:
        found = read_json(folder / FILE)
        words, types, merges = _parts(found, vocab)
        known, split = _split(found)
        first = _first(found)
    except FileNotFoundError:
        raise EngineError(f"{folder.name} has no {FILE}, and without it no text can be read or written.") from None
    except OSError as error:
        raise EngineError(f"{error.filename} cannot be read ({error.strerror}).") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineError(f"{FILE} of {folder.name} is damaged or of an unknown kind ({str(error)[:200]}).") from error
    if not known:
        raise EngineError(
            f"{folder.name} has a tokenizer that splits text in an unknown way; the engine reads SentencePiece's BPE, "
            f"and BPE of bytes that splits text as {', '.join(SPLITS)} do: take a GGUF file of the model."
        )
    return tokenizer_of(words, merges, types, split, first)


def _parts(found: Json, vocab: int) -> tuple[list[str], list[int], list[Any]]:
    """Words and types by id, and merges. Ids that no word has are unused."""
    bpe = cast("Json", found["model"])
    if bpe.get("type", "BPE") != "BPE" or bpe.get("continuing_subword_prefix"):
        raise ValueError("it is no BPE of bytes or SentencePiece's")
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


def _split(found: Json) -> tuple[bool, Split | None]:
    """Whether it is known how text is split into words, and how; None for SentencePiece's, which does not split."""
    steps = found.get("pre_tokenizer") or {}
    parts: list[Json] = steps.get("pretokenizers", [steps])
    bpe = cast("Json", found["model"])
    if bpe.get("byte_fallback"):
        normal: Json = found.get("normalizer") or {}
        replaced = [(each.get("pattern"), each.get("content")) for each in normal.get("normalizers", [normal])]
        spaces = ({"String": " "}, SPACE) in replaced and not steps
        return spaces or steps.get("type") == "Metaspace", None
    if not parts or parts[-1].get("type") != "ByteLevel":
        return False, None
    patterns = [_pattern(each) for each in parts]
    if None in patterns:
        return False, None
    made = Split(tuple(each for each in patterns if each), bpe.get("ignore_merges") is True)
    return any(made.patterns == known.patterns for known in SPLITS.values()), made


def _pattern(step: Json) -> str | None:
    """The regular expression by which a step splits text; empty if it does not, None if the step is unknown."""
    if step.get("type") == "ByteLevel":
        return "" if step.get("use_regex") is False else None if step.get("add_prefix_space") else GPT2.patterns[0]
    if step.items() >= {"type": "Digits", "individual_digits": True}.items():
        return r"\p{N}"
    if step.items() >= {"type": "Split", "behavior": "Isolated", "invert": False}.items():
        return str(step["pattern"].get("Regex")).replace("\r", r"\r").replace("\n", r"\n")
    return None


def _first(found: Json) -> str | None:
    """The token that is set before every text."""
    steps: Json = found.get("post_processor") or {}
    for step in steps.get("processors", [steps]):
        if step.get("type") == "TemplateProcessing":
            begin = step["single"][0].get("SpecialToken")
            return str(begin["id"]) if begin else None
    return None
