"""Where model files are stored, and which of them are accepted.

A file is accepted only by its SHA-256. A small note next to it records that together with the file's inode, size and
times, so that a later start need not hash it again; a file that has changed is hashed again. A program can set back a
file's modification time, but not its change time (ctime).
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

# Names a model's file or its folder. Only `dlsp model pull` reads it.
SOURCE_VARIABLE = "DLSP_MODEL_FILE"


class ModelMissing(UserError):
    """The model's file is missing or wrong; `said` says which, `todo` what to do."""

    def __init__(self, said: str, todo: str) -> None:
        super().__init__(f"{said}: {todo}.")
        self.said, self.todo = said, todo


def place(model: Model) -> Path:
    """The path of the model's file, whether it exists or not."""
    return cache_dir() / "models" / model.file


def path(model: Model) -> Path:
    """The model's accepted file, hashed again only if it has changed; raises ModelMissing if there is none."""
    file = place(model)
    record = _record(file, model)
    return file if record and record == _remembered(file) else verify(model)


def verify(model: Model, progress: Progress = SILENT) -> Path:
    """Hash the model's file, whatever was recorded, and return it; raises ModelMissing if it is wrong."""
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
    """Atomically move a file with the right SHA-256 to the model's place."""
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
    """What the note must contain for the file to be accepted; None if there is no file."""
    try:
        stat = file.stat()
    except OSError:
        return None
    stamp = {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "ctime_ns": stat.st_ctime_ns, "inode": stat.st_ino}
    return stamp | {"sha256": model.sha256}


def _remember(file: Path, record: Record) -> None:
    """Record that the file has the right SHA-256. Does nothing if the cache is read-only."""
    with suppress(OSError):
        _note(file).write_text(json.dumps(record))


def _remembered(file: Path) -> object:
    """The content of the note; None if it is unreadable."""
    try:
        return json.loads(_note(file).read_text())
    except (OSError, ValueError):
        return None
