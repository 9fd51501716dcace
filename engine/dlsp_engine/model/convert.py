"""Converts a checkpoint to what the engine reads at start: a tokenizer, a description, and where they are needed the
weights in bf16 with fused projections.
"""

import re
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout
from safetensors import SafetensorError
from safetensors.torch import save_file
from tokenizers import Tokenizer

from dlsp_engine.errors import EngineError
from dlsp_engine.model import manifest
from dlsp_engine.model.gguf_checkpoint import Gguf
from dlsp_engine.model.hashes import identity
from dlsp_engine.model.safetensors_checkpoint import Safetensors
from dlsp_engine.model.source import Description, opened
from dlsp_engine.model.update import Update
from dlsp_engine.text.from_gguf import tokenizer_from_gguf
from dlsp_engine.text.from_tokenizer_json import tokenizer_from_folder

# The version of the layout. It is part of the folder's name, so that the engine never reads files of another version.
FORMAT = "1"

ABOUT = "checkpoint.json"

Say = Callable[[str], None]


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)


def converted(gguf: Path, cache: Path, say: Say = _to_stderr, update: Update | None = None, dense: bool = True) -> Path:
    """The folder of a checkpoint's conversion, which is made on first use: `checkpoint.json`, a `Description`, and
    `tokenizer.json`; if `dense` also `weights.safetensors`, in bf16, which an int8 step does not need. The checkpoint
    is a GGUF file, or a folder of safetensors.

    `update` is added to the weights if it was trained for this file. When two engines start at once, one converts and
    the other waits. A conversion that was killed is started again, and so is one whose files are no longer what their
    manifests describe. Afterwards, conversions of the same file with another update are removed, and so are those of a
    file that this one has replaced.

    `say` reports progress. Raises EngineError when the folder cannot be written.
    """
    version = f"{FORMAT}-u{update.sha256[:12]}" if update else FORMAT
    folder = cache / "converted" / f"{identity(gguf, cache)}-{version}"
    about, tokenizer, weights = folder / ABOUT, folder / "tokenizer.json", folder / "weights.safetensors"
    files = (about, tokenizer, weights) if dense else (about, tokenizer)
    manifest.sweep(folder)
    if all(map(manifest.whole, files)):
        return folder
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(folder / manifest.LOCK):
            if lacking := [file for file in files if not manifest.whole(file)]:
                damaged = any(manifest.path_of(file).exists() for file in lacking)
                say(f"converting {gguf.name}{' again, since it was damaged' if damaged else ', once for this machine'}")
                if update and not update.belongs_to(gguf):
                    say(f"{gguf.name} is not the file that the infill update was trained for: it is left as it is")
                    update = None
                model = opened(gguf)
                if about in lacking and not model.architecture.tied:
                    weights.unlink(missing_ok=True)  # it may lack the head, as those of earlier versions did
                    lacking = [file for file in files if not manifest.whole(file)]
                if tokenizer in lacking:
                    _tokenizer(model, tokenizer)
                if weights in lacking:
                    _weights(model, gguf.name, weights, say, update)
                if about in lacking:
                    _describe(model, about, update)
                _forget_others(folder, replaced=gguf.parent == cache / "models")
    except (OSError, SafetensorError) as error:  # safetensors raises its own error on a full disk
        why = getattr(error, "strerror", None) or error
        raise EngineError(
            f"The model could not be converted into {folder} ({why}); free some space or set "
            "DLSP_CACHE_DIR to a folder that can be written."
        ) from error
    return folder


_FOLDER = re.compile(r"(?P<stem>.+)-(?P<file>\d+-\d+|[0-9a-f]{12})-(?P<format>\d+)(?:-u[0-9a-f]{12})?")


def _forget_others(folder: Path, replaced: bool) -> None:
    """Remove the conversions of this file in this format with another update, or with none.

    If the file has `replaced` another one of its name, remove all conversions of that file as well. Conversions that
    another process is at work on stay.
    """
    mine = _FOLDER.fullmatch(folder.name)
    for each in folder.parent.iterdir():
        other = _FOLDER.fullmatch(each.name)
        if not mine or not other or other["stem"] != mine["stem"] or each == folder:
            continue
        same = other["file"] == mine["file"]
        if (same and other["format"] == FORMAT) or (not same and replaced):
            with suppress(Timeout), FileLock(each / manifest.LOCK, timeout=0):
                shutil.rmtree(each, ignore_errors=True)


def _describe(model: Gguf | Safetensors, target: Path, update: Update | None) -> None:
    about = Description(
        model.architecture, update.sha256 if update else "", model.place(model.embedding), model.place(model.head)
    )
    partial = target.with_suffix(".partial")
    partial.write_text(about.to_json())
    manifest.publish(partial, target)


def _weights(model: Gguf | Safetensors, source: str, target: Path, say: Say, update: Update | None) -> None:
    shape = model.architecture
    tensors = {"embedding": model.tensor(model.embedding), "norm": model.tensor(model.norm)}
    if shape.layer_norm:
        tensors["norm.bias"] = model.tensor(model.norm_bias)
    if not shape.tied:
        tensors["head"] = model.tensor(model.head)
    for layer in range(shape.layers):
        if layer % 4 == 0:
            say(f"dequantising layer {layer} of {shape.layers}")
        tensors |= model.layer(layer, update)
    metadata = {"architecture": shape.to_json(), "source": source} | ({"update": update.sha256} if update else {})
    say("writing the converted weights")
    partial = target.with_suffix(".partial")
    try:
        save_file(tensors, partial, metadata=metadata)
        manifest.publish(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def _tokenizer(model: Gguf | Safetensors, target: Path) -> None:
    partial = target.with_suffix(".partial")
    tokenizer_for(model).save(str(partial))
    manifest.publish(partial, target)


def tokenizer_for(model: Gguf | Safetensors) -> Tokenizer:
    """The model's tokenizer. Raises EngineError if the engine cannot use it."""
    if isinstance(model, Gguf):
        return tokenizer_from_gguf(model.reader)
    return tokenizer_from_folder(model.path, model.architecture.vocab)
