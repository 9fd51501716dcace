"""Adds a model that the user has, or that the model hub has, and removes one."""

import dataclasses
import errno
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from dlsp.errors import UserError
from dlsp.models import added, store
from dlsp.models.added import LINE_TOKENS, usable_name
from dlsp.models.catalogue import NO_MIRROR, Model
from dlsp.models.disk import digest_of, files_of
from dlsp.models.progress import SILENT, Progress
from dlsp.models.repository import WEIGHTS, Repository, indexed
from dlsp.paths import cache_dir

# How long the engine may take to say what a checkpoint is.
INSPECT_S = 300.0

# Models that others trained to write edits, by what their files and repositories are called, and the engine's name of
# their format.
EDIT_FORMATS = (
    (re.compile(r"sweep-next-edit"), "sweep"),
    (re.compile(r"zed-industries.zeta(?![.-]?\d)"), "zeta1"),
    (re.compile(r"zeta-?2[.-]1"), "zeta2.1"),
    (re.compile(r"zeta-?2(?![.-]?\d)"), "zeta2"),
)
NO_EDIT_FORMAT = "none"

REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def add(
    what: str,
    name: str | None = None,
    revision: str | None = None,
    file: str | None = None,
    progress: Progress = SILENT,
    edit_format: str | None = None,
) -> Model:
    """Add the checkpoint in a file or folder, which stays where it is, or else in a repository of the model hub, which
    is downloaded; returns its model. `file` says which of several GGUF files is meant. `edit_format` says in which
    format others trained it to write edits, NO_EDIT_FORMAT that nobody did; by default its name says it. Raises
    UserError.
    """
    path = Path(what).expanduser()
    if path.exists():
        if revision:
            raise UserError(f"{what} is on this machine, and only repositories of the model hub have revisions.")
        path = _checkpoint(path.resolve(), file)
        name = _free(usable_name(name, str(path)), str(path))
        form = _edit_format(edit_format, path.name)
        model = _model(name, path, inspect(path, form), progress, form)
        added.keep(model)
        store.accept_in_place(model)
        return model
    if not REPOSITORY.fullmatch(what):
        raise UserError(f"There is no {what}: name a GGUF file, a folder with a model, or a hub id such as ORG/MODEL.")
    return _from_hub(what, name, revision, file, progress, edit_format)


def named_format(name: str) -> str:
    """The edit format of models with such a name of file or repository; empty for none."""
    return next((form for pattern, form in EDIT_FORMATS if pattern.search(name.lower())), "")


def _edit_format(wanted: str | None, name: str) -> str:
    if wanted is None:
        return named_format(name)
    return "" if wanted == NO_EDIT_FORMAT else wanted


def remove(model: Model) -> list[Path]:
    """Remove what dlsp keeps of a model: downloaded files, conversions, and the record of one that was added. Returns
    what was removed; files that the user named stay. Its engine must have ended.
    """
    removed = [*(cache_dir() / "converted").glob(f"*-{model.sha256[:12]}-*")]
    place = store.place(model)
    if model.path is None:
        removed += [place, store.note(model)]
    else:
        removed += [store.note(model)]
        removed += [added.folder() / model.name] if place.is_relative_to(added.folder()) else []
        added.forget(model)
    there = [each for each in removed if each.exists()]
    for each in there:
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    return there


def _checkpoint(path: Path, file: str | None) -> Path:
    """The GGUF file, or the folder with config.json, that a path means."""
    if path.is_file():
        return path
    found = sorted(path.glob("*.gguf"))
    if file:
        if not (path / file).is_file():
            raise UserError(f"{path} has no file {file}.")
        return path / file
    if (path / "config.json").is_file():
        return path
    if not found:
        raise UserError(f"{path} has neither a GGUF file nor a config.json: name the folder of a model.")
    if len(found) > 1:
        names = ", ".join(each.name for each in found[:8])
        raise UserError(f"{path} has several GGUF files: name one with --file. It has {names}.")
    return found[0]


def _from_hub(
    what: str, name: str | None, revision: str | None, file: str | None, progress: Progress, edit_format: str | None
) -> Model:
    from filelock import FileLock, Timeout

    name = _free(usable_name(name, file or what), what)
    repository = Repository.listed(what, revision)
    files, gguf = repository.model_files(file)
    form = _edit_format(edit_format, f"{what} {gguf}")
    target = added.folder() / name
    partial = target.with_name(f"{name}-{repository.commit[:12]}.partial")
    try:
        partial.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(f"{name}.lock"), timeout=0):
            for other in target.parent.glob(f"{name}-*.partial"):
                if other != partial:  # of another commit
                    shutil.rmtree(other, ignore_errors=True)
            if not gguf:
                repository.bring([each for each in files if not each.name.endswith(WEIGHTS)], partial, progress)
                inspect(partial, form, before_weights=True)  # so that nothing large comes in vain
                files = indexed(files, partial)
            repository.bring(files, partial, progress)
            (partial / "hub.log").unlink(missing_ok=True)
            model = _model(name, partial / gguf, inspect(partial / gguf, form), progress, form)
            shutil.rmtree(target, ignore_errors=True)
            partial.replace(target)
    except Timeout:
        raise UserError(f"Another process is adding {name}: wait until it is done.") from None
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        need = f" ({sum(each.size for each in files) / 1e9:.1f} GB)" if full else ""
        raise UserError(
            f"{partial} cannot be written ({error.strerror or error}): make room{need}, or set DLSP_CACHE_DIR."
        ) from error
    model = dataclasses.replace(
        model, path=target / gguf, file=gguf or target.name, repo=what, revision=repository.commit
    )
    added.keep(model)
    store.accept_in_place(model)
    return model


def _free(name: str, origin: str) -> str:
    """The name, unless a model from elsewhere has it."""
    for model in added.added():
        if model.name == name and origin not in (str(model.path), model.repo):
            raise UserError(
                f"There is a model '{name}' already, from {model.repo or model.path}: pass another name with --name, "
                f"or run `dlsp model remove {name}` first."
            )
    return name


def _model(name: str, path: Path, about: dict[str, Any], progress: Progress, edit_format: str) -> Model:
    """The model at a path, hashed. `about` is what the engine says of it."""
    size = sum(file.stat().st_size for file in files_of(path))
    return Model(
        name=name,
        file=path.name,
        size=size,
        sha256=digest_of(path, size, progress),
        repo="",
        mirror=NO_MIRROR,
        licence="",
        steps=LINE_TOKENS,
        parameters=about["parameters"],
        path=path,
        family=about["family"],
        attention=about["convention"]["attention"],
        fills=about["fills"],
        edit_format=edit_format,
    )


def inspect(path: Path, edit_format: str = "", before_weights: bool = False) -> dict[str, Any]:
    """The checkpoint's family, sizes and number of parameters; with `before_weights`, what its folder says without its
    weights. Raises UserError with the engine's reason if it cannot run, or not write edits in this format.
    """
    # -P keeps a torch.py in the current folder from being imported instead of the library.
    command = [sys.executable, "-P", "-m", "dlsp_engine", "inspect", str(path), "--edit-format", edit_format]
    try:
        done = subprocess.run(
            command + ["--before-weights"] * before_weights,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSPECT_S,
        )
    except subprocess.TimeoutExpired:
        raise UserError(
            f"Reading {path} took more than {INSPECT_S:.0f} s: it is no usable model, or this machine is very busy."
        ) from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise UserError(said[-1] if said else f"{path} cannot be read, and the engine gave no reason.")
    return json.loads(done.stdout)
