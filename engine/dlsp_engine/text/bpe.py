"""Builds a BPE tokenizer from the data of a checkpoint: words, merges, types of tokens, and how text is split."""

from collections.abc import Collection, Sequence
from typing import Any

from gguf import TokenType
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from dlsp_engine.errors import EngineError
from dlsp_engine.text.tokenizer import SPACE
from dlsp_engine.text.word_patterns import Split


def tokenizer_of(
    words: Sequence[str],
    merges: Sequence[Any],
    types: Sequence[int],
    split: Split | None,
    first: str | None = None,
    ends: Collection[str] = (),
) -> Tokenizer:
    """A tokenizer of words by id, merges (`a b`, or pairs) and GGUF's types of tokens by id. It is of bytes and splits
    text by `split`; without, it is of characters as SentencePiece has it. The word `first`, if there is one, is set
    before every text.

    Control tokens become special tokens, and so do the words `ends`; user-defined ones (`<tool_call>`) do not. Unused
    ids stay in the vocabulary so that no id changes. Raises EngineError if these do not fit each other.
    """
    try:
        ids = {word: token for token, word in enumerate(words)}
        pairs: Any = [tuple(merge.split(" ", 1) if isinstance(merge, str) else merge) for merge in merges]
        if split:
            made = _of_bytes(ids, pairs, split)
        else:
            unknown = next((word for word, kind in zip(words, types, strict=True) if kind == TokenType.UNKNOWN), None)
            made = _of_characters(ids, pairs, unknown)
        for word, kind in zip(words, types, strict=True):
            special = kind in (TokenType.CONTROL, TokenType.UNKNOWN) or word in ends
            if special or kind == TokenType.USER_DEFINED:
                made.add_tokens([AddedToken(word, special=special, normalized=False)])
        begin: Any = [] if first is None else [(first, ids[first])]
        one = ["$A:0"] if first is None else [f"{first}:0", "$A:0"]
        made.post_processor = processors.TemplateProcessing(single=one, pair=[*one, "$B:1"], special_tokens=begin)
        return made
    except Exception as error:  # whatever is missing or does not fit; the library raises plain Exception
        raise EngineError(f"This model's tokenizer is damaged ({_words(error)}); get it again.") from error


def merges_by_score(words: Sequence[str], scores: Sequence[float], types: Sequence[int]) -> list[tuple[str, str]]:
    """The merges that do what SentencePiece does: of two neighbouring pieces, those are merged first whose word has the
    highest score.
    """
    ids = {word: token for token, word in enumerate(words)}
    ranked: list[tuple[float, int, str, str]] = []
    for word, kind, score in zip(words, types, scores, strict=True):
        if kind in (TokenType.NORMAL, TokenType.USER_DEFINED):
            cuts = [(word[:cut], word[cut:]) for cut in range(1, len(word))]
            ranked += [(-score, ids[left], left, right) for left, right in cuts if left in ids and right in ids]
    return [(left, right) for _, _, left, right in sorted(ranked)]


def _of_bytes(ids: dict[str, int], merges: Any, split: Split) -> Tokenizer:
    whole: Any = {"ignore_merges": True} if split.whole else {}
    bpe: Any = models.BPE(ids, merges, continuing_subword_prefix="", end_of_word_suffix="", **whole)
    tokenizer = Tokenizer(bpe)
    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in split.patterns]
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _of_characters(ids: dict[str, int], merges: Any, unknown: str | None) -> Tokenizer:
    """No space is put before a text, so that tokens spell exactly the text that they were made of."""
    bpe: Any = models.BPE(ids, merges, unk_token=unknown, fuse_unk=True, byte_fallback=True)
    tokenizer = Tokenizer(bpe)
    tokenizer.normalizer = normalizers.Replace(" ", SPACE)
    tokenizer.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
