"""The folders where dlsp keeps its files, and the user's home folder. Only this module knows where they are."""

import logging
import os
import stat
import sys
from pathlib import Path
from typing import Literal

from dlsp.errors import UserError

log = logging.getLogger(__name__)

ALL_BITS = 0o077  # mode bits of group and others
WRITE_BITS = 0o022
ROOT = 0  # user id


def home() -> Path | None:
    """The user's home folder; None if there is none, as for a user id without a passwd entry and without HOME."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def cache_dir() -> Path:
    """The folder for model files, indexes and measurements: `DLSP_CACHE_DIR`, or the platform's. It may not exist yet.

    It must belong to this user, or to root if this user cannot write to it (a shared cache). Raises UserError if it
    does not, if it is a link, or if the home folder is needed and unknown.
    """
    path = _own("DLSP_CACHE_DIR", "user_cache_path")
    _check(path, "cache folder", "DLSP_CACHE_DIR", WRITE_BITS)
    return path


def index_dir() -> Path:
    """The folder for workspace indexes, which contain names and text from these. It may not exist yet.

    It is accessible to this user only. Raises UserError like `cache_dir`.
    """
    return _closed("index")


def prompts_dir() -> Path:
    """The folder for prompt caches, from which text of workspaces can be read. It may not exist yet.

    It is accessible to this user only. Raises UserError like `cache_dir`.
    """
    return _closed("prompts")


def _closed(name: str) -> Path:
    """A folder in the cache folder that is accessible to this user only."""
    path = cache_dir() / name
    _check(path, f"{name} folder", "DLSP_CACHE_DIR", ALL_BITS)
    return path


def state_dir() -> Path:
    """The folder for logs and the state files of running engines: `DLSP_STATE_DIR`, or the platform's.

    It is created if necessary and accessible to this user only. Raises UserError if it cannot be created, is a link or
    another user's, or if the home folder is needed and unknown.
    """
    path = _own("DLSP_STATE_DIR", "user_state_path")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"The state folder {path} cannot be made ({error.strerror}): set DLSP_STATE_DIR to another."
        ) from error
    _check(path, "state folder", "DLSP_STATE_DIR", ALL_BITS)
    return path


def _check(path: Path, what: str, variable: str, closed_bits: int) -> None:
    """Raise UserError if others can write to the folder or replace it; clears those of `closed_bits` that its mode has
    set.

    A folder that does not exist is valid.
    """
    if sys.platform == "win32":  # the user's profile is not accessible to others
        return
    try:
        found = path.lstat()
    except OSError:
        return  # whoever opens a file in it reports the error
    if stat.S_ISLNK(found.st_mode):
        raise UserError(f"The {what} {path} is a link: set {variable} to the folder that is meant.")
    if found.st_uid != os.geteuid():
        if found.st_uid == ROOT and closed_bits == WRITE_BITS and not os.access(path, os.W_OK):
            return
        raise UserError(f"The {what} {path} belongs to another user: set {variable} to a folder of yours.")
    if found.st_mode & closed_bits:
        try:
            path.chmod(stat.S_IMODE(found.st_mode) & ~closed_bits)
        except OSError as error:
            raise UserError(
                f"The {what} {path} is open to others ({error.strerror}): set {variable} to one that is not."
            ) from error
        log.warning("The %s %s was open to others; it is closed now.", what, path)


def _own(variable: str, kind: Literal["user_cache_path", "user_state_path"]) -> Path:
    """The folder named by the environment variable, else the platform's for `kind`."""
    try:
        return Path(os.environ.get(variable) or _platform_dir(kind)).expanduser().absolute()
    except RuntimeError as error:
        raise UserError(
            "The home folder is not known: set HOME, or DLSP_STATE_DIR and DLSP_CACHE_DIR to folders of yours."
        ) from error


def _platform_dir(kind: str) -> Path:
    from platformdirs import PlatformDirs

    return Path(getattr(PlatformDirs("dlsp", appauthor=False), kind))
