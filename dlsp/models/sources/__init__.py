"""Where a model's file may come from. Each source writes a candidate; only its SHA-256 is believed."""

from pathlib import Path
from typing import Protocol

from dlsp.models.catalogue import Model
from dlsp.models.progress import Progress


class Unavailable(Exception):
    """Why a source cannot give the model, as a part of a sentence that starts with the source."""


class Source(Protocol):
    @property
    def name(self) -> str: ...

    def fetch(self, model: Model, candidate: Path, rest: Path, progress: Progress) -> str:
        """Write the file `candidate` and return its SHA-256 in hex.

        What should outlive an interruption, for the next try to resume from, lies in the folder `rest`.
        Raises Unavailable, and OSError for what is wrong with this machine's disk.
        """
        ...
