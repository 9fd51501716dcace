"""Sources of a model's file. Each writes a candidate file; only its SHA-256 decides whether it is accepted."""

from pathlib import Path
from typing import Protocol

from dlsp.models.catalogue import Model
from dlsp.models.progress import Progress


class Unavailable(Exception):
    """Why a source cannot provide the model: the rest of a sentence that starts with the source's name."""


class Source(Protocol):
    """A place to get a model's file from; `name` is its name in messages."""

    @property
    def name(self) -> str: ...

    def fetch(self, model: Model, candidate: Path, rest: Path, progress: Progress) -> str:
        """Write the file `candidate` and return its SHA-256 in hex.

        Partial data that a later attempt can resume from is kept in the folder `rest`. Raises Unavailable, or OSError
        for a problem of the local disk.
        """
        ...
