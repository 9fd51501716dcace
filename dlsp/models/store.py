"""Where model files lie, and which of them are believed.

A file is accepted by its SHA-256 alone. What was accepted is remembered in a small note beside it, together
with the file's size and time, so that a later start believes it at once; a file that changed is hashed again.
"""

import json
import os
from contextlib import suppress
from pathlib import Path

from dlsp.errors import UserError
from dlsp.models.catalogue import DEFAULT, Model
from dlsp.models.disk import digest, flush
from dlsp.models.progress import SILENT, Progress
from dlsp.paths import cache_dir

# Names a model's file, or the folder that holds it. Only `dlsp model pull` reads it.
SOURCE_VARIABLE = "DLSP_MODEL_FILE"


class ModelMissing(UserError):
    """The model's file is not there, or not what it should be: what is `said`, and what `todo` about it."""

    def __init__(self, said: str, todo: str) -> None:
        super().__init__(f"{said}: {todo}.")
        self.said, self.todo = said, todo


def place(model: Model) -> Path:
    """Where the model's file belongs, there or not."""
    return cache_dir() / "models" / model.file


def path(model: Model) -> Path:
    """The model's accepted file. At once if it is as it was when accepted; ModelMissing if there is none."""
    file = place(model)
    record = _record(file, model)
    return file if record and record == _remembered(file) else verify(model)


def verify(model: Model, progress: Progress = SILENT) -> Path:
    """Hash the model's file anew, whatever is remembered, and return it; ModelMissing if it is not right."""
    file = place(model)
    pull = "dlsp model pull" if model == DEFAULT else f"dlsp model pull {model.short}"
    record = _record(file, model)
    if record is None:
        reads = f", which reads DLSP_MODEL_FILE ({given})" if (given := os.environ.get(SOURCE_VARIABLE)) else ""
        raise ModelMissing(f"The model {model.short} is not here yet", f"run `{pull}`{reads}")
    try:
        right = record["size"] == model.size and digest(file, model.size, progress) == model.sha256
    except OSError as error:
        raise ModelMissing(f"The model file {file} cannot be read ({error.strerror})", "make it readable") from None
    if not right:
        with suppress(OSError):
            _note(file).unlink(missing_ok=True)
        raise ModelMissing(f"The model file {file} is damaged or incomplete", f"run `{pull}` to replace it")
    _remember(file, record)
    return file


def accept(model: Model, candidate: Path) -> Path:
    """Move a file whose SHA-256 was found right to the model's place, in one step."""
    file = place(model)
    flush(candidate)
    candidate.replace(file)
    flush(file.parent)
    if record := _record(file, model):
        _remember(file, record)
    return file


Record = dict[str, int | str]


def _note(file: Path) -> Path:
    return file.with_name(file.name + ".accepted")


def _record(file: Path, model: Model) -> Record | None:
    """What the note must say for the file to be believed; None without a file."""
    try:
        stat = file.stat()
    except OSError:
        return None
    return {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": model.sha256}


def _remember(file: Path, record: Record) -> None:
    """Note that the file has the right SHA-256. A cache that cannot be written forgets."""
    with suppress(OSError):
        _note(file).write_text(json.dumps(record))


def _remembered(file: Path) -> object:
    """What the note says; an unreadable one says nothing."""
    try:
        return json.loads(_note(file).read_text())
    except (OSError, ValueError):
        return None
