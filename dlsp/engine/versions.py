"""Which engine a client may use when several versions of dlsp are on one machine."""

from enum import Enum

from packaging.version import InvalidVersion, Version

from dlsp import __version__
from dlsp.engine.state import State

API = 2  # the number of the engine's interface that this client speaks; see `docs/engine-http.md`


class Fit(Enum):
    """What to do with an engine that is found running."""

    USE = "use it"
    REPLACE = "end it and start our own"
    YIELD = "a newer dlsp owns the engine; this one is to be updated"


def fit(found: State, ours: str = __version__) -> Fit:
    """The newer version owns the engine, so two versions never take turns at replacing each other's.

    The older one goes on with the newer one's engine while the interface is the same.
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
