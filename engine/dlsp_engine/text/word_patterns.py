"""How text is split into words before BPE merges, by GGUF's names of the ways (`tokenizer.ggml.pre`)."""

from dataclasses import dataclass

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"


@dataclass(frozen=True)
class Split:
    """Each regular expression in turn splits what the ones before it left; matches and the text between them are
    words. `whole`: a word of the vocabulary is one token even if no merges make it.
    """

    patterns: tuple[str, ...]
    whole: bool = False


def _split(digits: str, symbols: str = r" ?[^\s\p{L}\p{N}]+[\r\n]*", whole: bool = False) -> Split:
    """The common kind: a word may begin with one character that is no letter."""
    return Split((rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}|{symbols}|{_SPACES}",), whole)


QWEN2 = _split(r"\p{N}")
GPT2 = Split((_GPT2,))
DIGITS_APART = Split((r"\p{N}", _GPT2))

SPLITS = {
    "qwen2": QWEN2,
    "deepseek-r1-qwen": QWEN2,
    "llama-bpe": _split(r"\p{N}{1,3}", whole=True),
    "llama3": _split(r"\p{N}{1,3}", whole=True),
    "glm4": _split(r"\p{N}{1,3}"),
    "chatglm-bpe": _split(r"\p{N}{1,3}"),
    "seed-coder": _split(r"\p{N}{1}", r" ?[^\s\p{L}\p{N}\r\n]+"),
    "starcoder": DIGITS_APART,
    "smollm": DIGITS_APART,
    "refact": DIGITS_APART,
    "codeshell": DIGITS_APART,
    "command-r": DIGITS_APART,
    "gpt-2": GPT2,
    "deepseek-coder": Split((r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}")),
}
