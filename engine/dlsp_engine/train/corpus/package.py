"""What a registry hands to the pipeline."""

from dataclasses import dataclass, field


class CorpusError(Exception):
    """A failure to tell the user about, in one sentence that says what to do."""


@dataclass(frozen=True)
class File:
    """One source file as it was published; `licence` is an expression, empty when unknown."""

    path: str
    language: str
    licence: str
    data: bytes


@dataclass(frozen=True)
class Package:
    """One published package; `problem` says why it could not be read, and then it has no files."""

    source: str
    name: str
    version: str = ""
    files: list[File] = field(default_factory=list)
    problem: str = ""
