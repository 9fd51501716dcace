"""The folders in which dlsp keeps what it needs, and the user's home folder. Nothing else knows where they are."""

import os
from pathlib import Path
from typing import Literal

from dlsp.errors import UserError


def home() -> Path | None:
    """The user's home folder; None where there is none, as for a user id without a passwd entry and without HOME."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def cache_dir() -> Path:
    """The folder for model files, indexes and measurements: `DLSP_CACHE_DIR`, else the platform's. It need not exist.

    Raises UserError where it would lie in a home folder that is not known.
    """
    return _own("DLSP_CACHE_DIR", "user_cache_path")


def state_dir() -> Path:
    """The folder for logs and for what running engines write about themselves: `DLSP_STATE_DIR`, else the platform's.

    It is made on demand, for its owner only. Raises UserError where that fails, or where no home folder is known.
    """
    path = _own("DLSP_STATE_DIR", "user_state_path")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"The state folder {path} cannot be made ({error.strerror}): set DLSP_STATE_DIR to another."
        ) from error
    return path


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
