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
from dlsp.models.disk import digest, digest_of, files_of, flush
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
    """The path of the model's file or folder, whether it exists or not."""
    return model.path or cache_dir() / "models" / model.file


def path(model: Model) -> Path:
    """The model's accepted file, hashed again only if it has changed; raises ModelMissing if there is none."""
    file = place(model)
    record = _record(file, model)
    return file if record and record == _remembered(model) else verify(model)


def verify(model: Model, progress: Progress = SILENT) -> Path:
    """Hash the model's file, whatever was recorded, and return it; raises ModelMissing if it is wrong."""
    file = place(model)
    if model.path:
        return _verify_added(model, progress)
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
            note(model).unlink(missing_ok=True)
        raise ModelMissing(f"The model file {file} is damaged or incomplete", f"run `{pull}` to replace it")
    _remember(model, record)
    return file


def accept(model: Model, candidate: Path) -> Path:
    """Atomically move a file with the right SHA-256 to the model's place."""
    file = place(model)
    flush(candidate)
    candidate.replace(file)
    flush(file.parent)
    accept_in_place(model)
    return file


def accept_in_place(model: Model) -> None:
    """Record that what lies at the model's place has the right SHA-256."""
    if record := _record(place(model), model):
        _remember(model, record)


def _verify_added(model: Model, progress: Progress) -> Path:
    where, record = place(model), _record(place(model), model)
    if record is None:
        raise ModelMissing(
            f"The model {model.short} is not at {where} any more",
            f"put it back, or run `dlsp model remove {model.short}`",
        )
    try:
        right = record["size"] == model.size and digest_of(where, model.size, progress) == model.sha256
    except OSError as error:
        raise ModelMissing(f"The model at {where} cannot be read ({error.strerror})", "make it readable") from None
    if not right:
        again = model.repo or where
        raise ModelMissing(
            f"The model {model.short} at {where} has changed since it was added",
            f"run `dlsp model add {again} --name {model.short}` again",
        )
    _remember(model, record)
    return where


Record = dict[str, int | str]


def note(model: Model) -> Path:
    """Where it is recorded that the model has the right SHA-256."""
    file = cache_dir() / "models" / "added" / model.name if model.path else place(model)
    return file.with_name(file.name + ".accepted")


def _record(file: Path, model: Model) -> Record | None:
    """What the note must contain for the model to be accepted; None if there is none."""
    try:
        stats = [each.stat() for each in files_of(file)]
    except OSError:
        return None
    if not stats:
        return None
    stamp = {
        "size": sum(stat.st_size for stat in stats),
        "mtime_ns": max(stat.st_mtime_ns for stat in stats),
        "ctime_ns": max(stat.st_ctime_ns for stat in stats),
        "inode": stats[0].st_ino,
    }
    return stamp | {"sha256": model.sha256}


def _remember(model: Model, record: Record) -> None:
    """Record that the model has the right SHA-256. Does nothing if the cache is read-only."""
    with suppress(OSError):
        note(model).write_text(json.dumps(record))


def _remembered(model: Model) -> object:
    """The content of the note; None if it is unreadable."""
    try:
        return json.loads(note(model).read_text())
    except (OSError, ValueError):
        return None
