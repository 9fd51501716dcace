"""Folders of the user's own, in which dlsp keeps what it needs."""

import os
from pathlib import Path
from typing import Literal

from dlsp.errors import UserError


def own(variable: str, kind: Literal["user_cache_path", "user_state_path"]) -> Path:
    """The folder that an environment variable names, else the platform's; it need not exist. UserError where it lies
    in a home folder that is not known."""
    try:
        return Path(os.environ.get(variable) or _platforms(kind)).expanduser().absolute()
    except RuntimeError as error:
        raise UserError(
            "The home folder is not known: set HOME, or DLSP_STATE_DIR and DLSP_CACHE_DIR to folders of yours."
        ) from error


def _platforms(kind: str) -> Path:
    from platformdirs import PlatformDirs

    return Path(getattr(PlatformDirs("dlsp", appauthor=False), kind))
