"""Builds a `tokenizers.Tokenizer` from the metadata of a GGUF file."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gguf import GGUFReader, TokenType
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors

from dlsp_engine.errors import EngineError

# GGUF's name of a scheme (`tokenizer.ggml.pre`) -> the regular expression that splits text before BPE merges.
WORD_PATTERNS = {
    "qwen2": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}


def tokenizer_from_gguf(reader: GGUFReader, demanded: Mapping[str, int] = MappingProxyType({})) -> Tokenizer:
    """Return a byte-level BPE tokenizer with the file's vocabulary, merges and added tokens.

    Control tokens become special tokens, user-defined ones (`<tool_call>`) do not. Unused ids stay in the vocabulary so
    that no id changes. Raises EngineError if the file has another kind of tokenizer, or none, or lacks one of the
    `demanded` tokens, given with their ids.
    """

    def value(key: str) -> Any:
        field = reader.get_field(f"tokenizer.ggml.{key}")
        try:
            return None if field is None else field.contents()
        except UnicodeDecodeError:
            raise EngineError(f"The tokenizer in this GGUF file is damaged: '{key}' is not UTF-8.") from None

    kind, pattern = value("model"), WORD_PATTERNS.get(value("pre"))
    if kind != "gpt2" or pattern is None:
        raise EngineError(
            f"This GGUF file has a tokenizer of the kind '{kind or 'none'}', '{value('pre') or 'none'}'; "
            f"the engine reads byte-level BPE ('gpt2') of the kinds {', '.join(WORD_PATTERNS)}."
        )
    return tokenizer_of(value("tokens") or [], value("merges"), value("token_type"), value("pre"), demanded)


def tokenizer_of(
    words: list[str], merges: list[Any], types: list[int], kind: str, demanded: Mapping[str, int]
) -> Tokenizer:
    """A byte-level BPE tokenizer of words by id, merges (`a b`, or pairs), GGUF's types of tokens by id, and the name
    of a scheme in WORD_PATTERNS.

    Raises EngineError if these do not fit each other, or one of the `demanded` tokens is lacking.
    """
    if lacking := [name for name, token in demanded.items() if words[token : token + 1] != [name]]:
        raise EngineError(
            f"This model's tokenizer has no token {lacking[0]} with the number {demanded[lacking[0]]}; "
            "the engine fills gaps by the tokens of Qwen2.5-Coder and runs no model without them."
        )
    try:
        return _built(words, merges, types, WORD_PATTERNS[kind])
    except Exception as error:  # whatever is missing or does not fit; the library raises plain Exception
        raise EngineError(f"This model's tokenizer is damaged ({_words(error)}); get it again.") from error


def _built(words: list[str], merges: list[Any], types: list[int], pattern: str) -> Tokenizer:
    pairs: Any = [tuple(merge.split(" ", 1) if isinstance(merge, str) else merge) for merge in merges]
    bpe: Any = models.BPE(  # its type stub has no constructor
        {word: token for token, word in enumerate(words)},
        pairs,
        continuing_subword_prefix="",
        end_of_word_suffix="",
    )
    tokenizer = Tokenizer(bpe)
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A:0", pair="$A:0 $B:1", special_tokens=[])
    for word, token_type in zip(words, types, strict=True):
        if token_type in (TokenType.CONTROL, TokenType.USER_DEFINED):
            special = token_type == TokenType.CONTROL
            tokenizer.add_tokens([AddedToken(word, special=special, normalized=False)])
    return tokenizer


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
