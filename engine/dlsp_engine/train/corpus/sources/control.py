"""Parses Debian's control files, which are stanzas of named fields."""

import re


def fields(stanza: str) -> dict[str, str]:
    """Return the fields of a stanza by lower-case name. A line that starts with a space continues the one before."""
    lines = "\n".join(line for line in stanza.splitlines() if not line.startswith("#"))
    parts = re.split(r"^([\w-]+):", lines, flags=re.MULTILINE)
    return {name.lower(): value.strip() for name, value in zip(parts[1::2], parts[2::2], strict=True)}
