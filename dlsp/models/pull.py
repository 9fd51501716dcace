"""Download a model's file into the cache, from the first source that provides the right bytes."""

import errno
import os
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from dlsp.errors import UserError
from dlsp.models import store
from dlsp.models.catalogue import Model
from dlsp.models.disk import digest
from dlsp.models.progress import SILENT, Progress
from dlsp.models.sources import Source, Unavailable
from dlsp.models.sources.hub import Hub
from dlsp.models.sources.local import Local
from dlsp.models.sources.mirror import Mirror


class PullError(UserError):
    """The model could not be downloaded."""


def pull(model: Model, source: Path | None = None, progress: Progress = SILENT) -> Path:
    """The path of the model's verified file, downloaded if necessary.

    `source`, or else DLSP_MODEL_FILE, names a local file or folder, and then the network is not used. An interrupted
    pull resumes. Raises PullError, which says what failed and what to do.
    """
    file = store.place(model)
    try:
        found = store.path(model)
    except store.ModelMissing:
        pass
    else:
        _sweep(file)
        return found
    with _explained(file.parent, model):
        file.parent.mkdir(parents=True, exist_ok=True)
        with _alone(file, model, progress):
            try:
                return store.path(model)  # another process has downloaded it meanwhile
            except store.ModelMissing:
                return _fetch(model, sources(source), file, progress)


def sources(source: Path | None = None) -> Sequence[Source]:
    """The sources to try, in order."""
    where = source or os.environ.get(store.SOURCE_VARIABLE)
    return [Local(Path(where).expanduser())] if where else [Hub(), Mirror()]


def wrong_source(model: Model) -> str:
    """What is wrong with the file or folder named by DLSP_MODEL_FILE, as a sentence; "" if it is valid or unset.

    Only a pull uses the variable, so a user who sets it wrongly would otherwise see no effect.
    """
    where = os.environ.get(store.SOURCE_VARIABLE)
    if not where or model.path:
        return ""
    try:
        Local(Path(where).expanduser()).file(model)
    except (Unavailable, OSError, RuntimeError) as error:
        said = f"{store.SOURCE_VARIABLE} names {where}, which {error}"
        return f"{said}: correct or unset it. Only `dlsp model pull` reads it."
    return ""


def _fetch(model: Model, asked: Sequence[Source], file: Path, progress: Progress) -> Path:
    candidate, rest = _partial(file)
    rest.mkdir(exist_ok=True)
    if _is_whole(candidate, model, progress):  # a pull was killed just before it was done
        store.accept(model, candidate)
        shutil.rmtree(rest, ignore_errors=True)
        return file
    candidate.unlink(missing_ok=True)
    failures: list[str] = []
    for source in asked:
        progress.say(f"{model.short}: from {source.name}")
        try:
            sha256 = source.fetch(model, candidate, rest, progress)
            if sha256 == model.sha256:
                store.accept(model, candidate)
                shutil.rmtree(rest, ignore_errors=True)
                return file
            _discard(candidate, rest)
            raise Unavailable(f"gave another file (SHA-256 {sha256[:12]}…, not {model.sha256[:12]}…)")
        except Unavailable as reason:
            failures.append(f"{source.name} {reason}")
            progress.say(failures[-1])
    raise PullError(f"Could not get {model.short} ({'; '.join(failures)}): {_advice(model, asked)}.")


def _partial(file: Path) -> tuple[Path, Path]:
    """Where a pull puts the file until it is accepted, and the folder of its parts."""
    return file.with_name(file.name + ".partial"), file.with_name(file.name + ".parts")


def _is_whole(candidate: Path, model: Model, progress: Progress) -> bool:
    if not candidate.is_file() or candidate.stat().st_size != model.size:
        return False
    return digest(candidate, model.size, progress) == model.sha256


def _sweep(file: Path) -> None:
    """Remove what a pull of a file that is here now has left, unless another process is pulling it."""
    from filelock import FileLock, Timeout

    candidate, rest = _partial(file)
    if candidate.exists() or rest.exists():
        with suppress(OSError, Timeout), FileLock(file.with_name(file.name + ".lock"), timeout=0):
            candidate.unlink(missing_ok=True)
            shutil.rmtree(rest, ignore_errors=True)


def _discard(candidate: Path, rest: Path) -> None:
    """Delete a wrong file and the parts it was made of, so that nothing resumes from them."""
    candidate.unlink()
    shutil.rmtree(rest)
    rest.mkdir()


def _advice(model: Model, asked: Sequence[Source]) -> str:
    if any(isinstance(source, Local) for source in asked):
        return f"name the right {model.file} with --from or DLSP_MODEL_FILE, or neither to download it"
    again = f"dlsp model pull {model.short}"
    return f"check the network and run `{again}`, or get {model.file} elsewhere and run `{again} --from FILE`"


@contextmanager
def _alone(file: Path, model: Model, progress: Progress) -> Generator[None, None, None]:
    """Allow one pull of a model at a time on this machine; another one waits and says so."""
    from filelock import FileLock, Timeout

    lock = FileLock(file.with_name(file.name + ".lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress.say(f"{model.short}: another process is bringing it, waiting")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _explained(folder: Path, model: Model) -> Generator[None, None, None]:
    """Turn disk errors into a PullError that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            needed = f"{2 * model.size / 1e9:.1f} GB"
            raise PullError(
                f"The disk of {folder} is full: make room ({model.short} takes up to {needed} while fetched) "
                "or set DLSP_CACHE_DIR to a folder that has it, and pull again."
            ) from error
        raise PullError(
            f"The cache folder {folder} cannot be written ({error.strerror or error}): make it writable, "
            "or set DLSP_CACHE_DIR to a folder that is."
        ) from error
