"""The folders in which dlsp keeps what it needs, and the user's home folder. Nothing else knows where they are."""

import logging
import os
import stat
import sys
from pathlib import Path
from typing import Literal

from dlsp.errors import UserError

log = logging.getLogger(__name__)

ALL_BITS = 0o077  # of a mode, for others than the owner
WRITE_BITS = 0o022
ROOT = 0  # a user id


def home() -> Path | None:
    """The user's home folder; None where there is none, as for a user id without a passwd entry and without HOME."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def cache_dir() -> Path:
    """The folder for model files, indexes and measurements: `DLSP_CACHE_DIR`, else the platform's. It need not exist.

    It belongs to this user, or to root where this user cannot write to it: a cache that is shared. Raises UserError
    where it does not, is a link, or would lie in a home folder that is not known.
    """
    path = _own("DLSP_CACHE_DIR", "user_cache_path")
    _check(path, "cache folder", "DLSP_CACHE_DIR", WRITE_BITS)
    return path


def index_dir() -> Path:
    """The folder for the indexes of workspaces, which hold names and text from them. It need not exist.

    It is this user's alone. Raises UserError as `cache_dir` does.
    """
    path = cache_dir() / "index"
    _check(path, "index folder", "DLSP_CACHE_DIR", ALL_BITS)
    return path


def state_dir() -> Path:
    """The folder for logs and for what running engines write about themselves: `DLSP_STATE_DIR`, else the platform's.

    It is made on demand, and is this user's alone. Raises UserError where that cannot be, where it is a link or belongs
    to somebody else, or where no home folder is known.
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
    """Raise UserError if others can put something into the folder, or exchange it; `closed_bits` of its mode that are
    set are cleared. A folder that is not there is right."""
    if sys.platform == "win32":  # the user's profile is closed to others
        return
    try:
        found = path.lstat()
    except OSError:
        return  # who opens something in it will say what is wrong
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
    """The folder that the environment variable names, else the platform's for `kind`."""
    try:
        return Path(os.environ.get(variable) or _platform_dir(kind)).expanduser().absolute()
    except RuntimeError as error:
        raise UserError(
            "The home folder is not known: set HOME, or DLSP_STATE_DIR and DLSP_CACHE_DIR to folders of yours."
        ) from error


def _platform_dir(kind: str) -> Path:
    from platformdirs import PlatformDirs

    return Path(getattr(PlatformDirs("dlsp", appauthor=False), kind))
