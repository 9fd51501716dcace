"""A tokenizer from the metadata of a GGUF file."""

from typing import Any

from gguf import GGUFReader
from tokenizers import Tokenizer

from dlsp_engine.errors import EngineError
from dlsp_engine.text.bpe import merges_by_score, tokenizer_of
from dlsp_engine.text.word_patterns import SPLITS

SENTENCEPIECE, BYTE_BPE = "llama", "gpt2"  # GGUF's names of the models that are read

# Entries with the number of a token that ends a text or a turn.
ENDS = ("eos_token_id", "eot_token_id", "eom_token_id")


def tokenizer_from_gguf(reader: GGUFReader) -> Tokenizer:
    """Return the file's tokenizer, as `tokenizer_of` makes it. Raises EngineError if the file has another kind of
    tokenizer, or none, or a damaged one.
    """

    def value(key: str, kind: type = object) -> Any:
        field = reader.get_field(f"tokenizer.ggml.{key}")
        try:
            found = None if field is None else field.contents()
        except UnicodeDecodeError:
            raise EngineError(f"The tokenizer in this GGUF file is damaged: '{key}' is not UTF-8.") from None
        if found is not None and not isinstance(found, kind):
            raise EngineError(f"The tokenizer in this GGUF file is damaged: '{key}' is no {kind.__name__}.")
        return found

    kind, pre = value("model"), str(value("pre"))
    if kind not in (SENTENCEPIECE, BYTE_BPE):
        raise EngineError(
            f"This GGUF file has a tokenizer of the kind '{kind or 'none'}'; the engine reads the kinds "
            f"'{BYTE_BPE}' and '{SENTENCEPIECE}': take another file of the model."
        )
    split = SPLITS.get(pre) if kind == BYTE_BPE else None
    if kind == BYTE_BPE and split is None:
        raise EngineError(
            f"This GGUF file splits text into words by '{pre}', which the engine does not know (it knows "
            f"{', '.join(SPLITS)}): take the model's folder of safetensors with its tokenizer.json."
        )
    words, types, scores = value("tokens", list) or [], value("token_type", list) or [], value("scores", list) or []
    if any(len(each) != len(words) for each in ([types] if split else [types, scores])):
        raise EngineError("The tokenizer in this GGUF file is damaged: each word must have a type and a score.")
    numbers = [number for key in ENDS if (number := value(key, int)) is not None]
    ends = {words[number] for number in numbers if number < len(words)}
    begins, begin = value("add_bos_token"), value("bos_token_id", int)
    if begins is None:  # as llama.cpp has it
        begins = split is None or split.whole
    first = words[begin] if begins and begin is not None and begin < len(words) else None
    merges = value("merges", list) or [] if split else merges_by_score(words, scores, types)
    return tokenizer_of(words, merges, types, split, first, ends)
