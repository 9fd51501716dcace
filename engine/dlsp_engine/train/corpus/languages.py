"""Groups of languages that share a target size, and the language of a file by its extension."""

from pathlib import PurePosixPath

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
