"""What is cheap to know about a moment: the cursor's line, the last edit, the kind of text."""

import re
from dataclasses import dataclass
from pathlib import PurePath

from dlsp.gate.edit import Edit

PROSE = frozenset([".md", ".markdown", ".rst", ".txt", ".tex", ".adoc", ".org", ""])
_PYTHON = frozenset([".py", ".pyi", ".ipynb"])
_HASH = frozenset([*_PYTHON, ".rb", ".sh", ".bash", ".zsh", ".yml", ".yaml", ".toml", ".r", ".pl", ".mk", ".cfg"])
_DASHES = frozenset([".lua", ".sql", ".hs", ".elm", ".ada"])
# One that is not closed reaches to the end: looked for again from each of its quotes, it would take seconds.
_STRING = re.compile(r"([\"'`])(?:\\.|(?!\1)[^\\])*(\1|\\?\Z)")
_TRIPLE = ('"""', "'''")
_SEEN = 20_000


@dataclass(frozen=True)
class Facts:
    """`moved`: the cursor is not where the last edit left it. `inside`: code, comment, string or prose.

    `agreed` characters were typed as the answer has them; `dismissed` is how many keys ago the user sent a suggestion
    away, None for never.
    """

    line_before: str
    line_after: str
    edit: Edit = Edit.NONE
    moved: bool = False
    inside: str = "code"
    agreed: int = 0
    dismissed: int | None = None


def inside(before: str, path: str) -> str:
    """What kind of text the cursor at the end of `before` stands in, by its line and the strings of many lines."""
    suffix = PurePath(path).suffix.lower()
    if suffix in PROSE:
        return "prose"
    seen = before[-_SEEN:]
    if suffix in _PYTHON and any(before.count(triple) % 2 for triple in _TRIPLE):
        return "string"
    line = seen.rpartition("\n")[2]
    bare = _STRING.sub(lambda string: "" if string[1] == string[2] else string[1], line)
    mark = "#" if suffix in _HASH else "--" if suffix in _DASHES else "//"
    comment = bare.find(mark)
    quote = min((at for each in "\"'`" if (at := bare.find(each)) >= 0), default=-1)
    if comment >= 0 and (quote < 0 or comment < quote):
        return "comment"
    if mark == "//" and re.match(r"\s*/?\*", line) and "*/" not in line:
        return "comment"
    return "string" if quote >= 0 and suffix not in (".rs", ".lisp", ".html") else "code"
