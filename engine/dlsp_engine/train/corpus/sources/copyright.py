"""Reads Debian's control files, which are stanzas of named fields, and among them the machine-readable
`debian/copyright`, which says which licence applies to which file.
"""

import re
from fnmatch import translate

from .. import licences


class Copyright:
    """Licences by file pattern. If several patterns match a file, the last one applies."""

    def __init__(self, text: str) -> None:
        stanzas = [fields(stanza) for stanza in re.split(r"\n\s*\n", text)]
        stated = [stanza.get("license", "").partition("\n") for stanza in stanzas]
        texts = {name.strip(): body for name, _, body in stated if body}
        self._patterns: list[tuple[re.Pattern[str], str]] = []
        for stanza, (name, _, _) in zip(stanzas, stated, strict=True):
            licence = _known(name.strip(), texts)
            for pattern in stanza.get("files", "").split():
                self._patterns.append((re.compile(translate(pattern.removeprefix("./"))), licence))

    def licence(self, path: str) -> str:
        """Return the short name of a file's licence, empty if none is stated."""
        return next((licence for pattern, licence in reversed(self._patterns) if pattern.match(path)), "")


def _known(name: str, texts: dict[str, str]) -> str:
    """Return a licence's short name. If packagers made the name up, return the name of its text's licence instead."""
    if licences.permissive(name):
        return name
    return licences.from_text(texts.get(name, "")) or name


def fields(stanza: str) -> dict[str, str]:
    """Return the fields of a stanza by lower-case name. A line that starts with a space continues the one before."""
    lines = "\n".join(line for line in stanza.splitlines() if not line.startswith("#"))
    parts = re.split(r"^([\w-]+):", lines, flags=re.MULTILINE)
    return {name.lower(): value.strip() for name, value in zip(parts[1::2], parts[2::2], strict=True)}
