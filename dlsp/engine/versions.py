"""Decides which engine a client may use when several versions of dlsp are installed on one machine."""

from enum import Enum

from packaging.version import InvalidVersion, Version

from dlsp import __version__
from dlsp.engine.state import State

API = 2  # the version of the engine's HTTP API that this client speaks; see `docs/engine-http.md`


class Fit(Enum):
    """What to do with a running engine."""

    USE = "use it"
    REPLACE = "end it and start our own"
    YIELD = "a newer dlsp owns the engine; this one is to be updated"


def fit(found: State, ours: str = __version__) -> Fit:
    """What this version must do with the engine `found`.

    The newest version owns the engine, so that two versions do not replace each other's in turn. An older client uses
    the newer engine as long as their API version is the same.
    """
    if found.version == ours:
        return Fit.USE
    if _version(found.version) < _version(ours):
        return Fit.REPLACE
    return Fit.USE if found.api == API else Fit.YIELD


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")
