"""Groups of languages that share a target, and the languages of their files by extension."""

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
    """The language of a file, None when it is not one of `languages`."""
    return languages.get(PurePosixPath(path).suffix)
