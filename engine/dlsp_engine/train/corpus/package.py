"""Packages and files, as registries pass them to the pipeline, and the languages of files."""

from dataclasses import dataclass, field
from pathlib import PurePosixPath


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


Languages = dict[str, str]

GROUPS: dict[str, Languages] = {
    "python": {".py": "python"},
    "javascript": {
        **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
        **dict.fromkeys((".ts", ".mts", ".cts", ".tsx"), "typescript"),
    },
    "go": {".go": "go"},
    "rust": {".rs": "rust"},
    "java": {".java": "java"},
    "cpp": {
        **dict.fromkeys((".c", ".h"), "c"),
        **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "cpp"),
    },
}


def language(path: str, languages: Languages) -> str | None:
    """Return the language of a file; None if it is not one of `languages`."""
    return languages.get(PurePosixPath(path).suffix)
