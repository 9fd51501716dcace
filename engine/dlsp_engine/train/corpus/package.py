"""Packages and files, as registries pass them to the pipeline."""

from dataclasses import dataclass, field


class CorpusError(Exception):
    """An error for the user. Its text is one sentence that says what to do."""


@dataclass(frozen=True)
class File:
    """One source file as it was published. `licence` is a licence expression, empty if unknown."""

    path: str
    language: str
    licence: str
    data: bytes


@dataclass(frozen=True)
class Package:
    """One published package. If it could not be read, `problem` says why, and it has no files."""

    source: str
    name: str
    version: str = ""
    files: list[File] = field(default_factory=list)
    problem: str = ""
