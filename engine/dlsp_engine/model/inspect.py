"""What a checkpoint is, as `dlsp model add` asks before it takes one: `python -m dlsp_engine inspect PATH`."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.convert import tokenizer_for
from dlsp_engine.model.safetensors_checkpoint import described
from dlsp_engine.model.source import opened
from dlsp_engine.text.edit_formats.named import checked
from dlsp_engine.text.from_tokenizer_json import tokenizer_from_folder
from dlsp_engine.text.template import format_of


def inspected(path: Path, edit_format: str = "") -> dict[str, Any]:
    """The checkpoint's sizes and constants, its number of `parameters`, and whether it `fills` gaps. Raises EngineError
    with the reason if the engine cannot run it, or if it lacks tokens of the `edit_format`.
    """
    checkpoint = opened(path)
    tokenizer = tokenizer_for(checkpoint)
    return _said(checkpoint.architecture, tokenizer, edit_format) | {"parameters": checkpoint.parameters}


def inspected_before_weights(folder: Path, edit_format: str = "") -> dict[str, Any]:
    """As `inspected`, without `parameters`, by what a folder says whose weights may not be there yet."""
    shape = described(folder)
    return _said(shape, tokenizer_from_folder(folder, shape.vocab), edit_format)


def _said(shape: Architecture, tokenizer: Tokenizer, edit_format: str) -> dict[str, Any]:
    gaps = format_of(tokenizer.token_to_id)
    added = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    checked(edit_format, added | set(gaps.names if gaps else ()))
    return asdict(shape) | {"fills": gaps is not None}
