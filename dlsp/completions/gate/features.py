"""The features the gate computes a probability from: the cursor's line, the last edit, and the engine's tokens.

A feature is 0 or 1 unless stated otherwise.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import exp, log1p
from pathlib import PurePath

# The most characters inserted at once that still count as typed: a word from a menu or an input method.
MAX_TYPED_CHARACTERS = 24
# Keystrokes after which a dismissal no longer counts.
DISMISSAL_KEYS = 40
# Lower log-probabilities are raised to this.
MIN_LOG_P = -8.0
# Characters before the cursor that are searched for strings and comments.
SEARCHED_CHARACTERS = 20_000

_CLOSING_CHARACTERS = " \t)]}>\"'`,;:"
PROSE = frozenset([".md", ".markdown", ".rst", ".txt", ".tex", ".adoc", ".org", ""])
_PYTHON = frozenset([".py", ".pyi", ".ipynb"])
_HASH = frozenset([*_PYTHON, ".rb", ".sh", ".bash", ".zsh", ".yml", ".yaml", ".toml", ".r", ".pl", ".mk", ".cfg"])
_DASHES = frozenset([".lua", ".sql", ".hs", ".elm", ".ada"])
# File suffix by LSP language id.
_SUFFIXES = {
    "ada": ".ada",
    "asciidoc": ".adoc",
    "elm": ".elm",
    "haskell": ".hs",
    "html": ".html",
    "latex": ".tex",
    "lisp": ".lisp",
    "lua": ".lua",
    "makefile": ".mk",
    "markdown": ".md",
    "org": ".org",
    "perl": ".pl",
    "python": ".py",
    "r": ".r",
    "restructuredtext": ".rst",
    "rst": ".rst",
    "ruby": ".rb",
    "rust": ".rs",
    "sh": ".sh",
    "shellscript": ".sh",
    "sql": ".sql",
    "tex": ".tex",
    "toml": ".toml",
    "yaml": ".yaml",
    "zsh": ".sh",
}
# Language ids that editors send when they do not know the language.
_NO_LANGUAGE = frozenset(["", "plaintext", "text", "plain", "fundamental"])
# An unclosed string reaches to the end of the line; matching again from each of its quotes would take seconds.
_STRING = re.compile(r"([\"'`])(?:\\.|(?!\1)[^\\])*(\1|\\?\Z)")
_TRIPLE = ('"""', "'''")

Features = dict[str, float]


class Edit(Enum):
    """The kind of the document's last edit."""

    NONE = "none"
    TYPED = "typed"
    NEWLINE = "newline"
    DELETED = "deleted"
    PASTED = "pasted"
    ACCEPTED = "accepted"


def kind_of_edit(removed: bool, text: str) -> Edit:
    """Classify a change that inserts `text`; `removed` says whether it also replaced text."""
    if not text:
        return Edit.DELETED if removed else Edit.NONE
    if not text.strip() and text[0] in "\r\n":
        return Edit.NEWLINE
    if len(text) <= MAX_TYPED_CHARACTERS and "\n" not in text and "\r" not in text:
        return Edit.TYPED
    return Edit.PASTED


@dataclass(frozen=True)
class Facts:
    """What the gate knows about the cursor and the latest edits.

    `moved`: the cursor is not where the last edit left it. `inside`: `code`, `comment`, `string` or `prose`. `agreed`:
    characters typed that agree with the completion. `keys_over`: keys on this line that did so since it was first
    shown, or a part of it accepted. `dismissed`: keystrokes since the user last dismissed a suggestion, None if never.
    """

    line_before: str
    line_after: str
    edit: Edit = Edit.NONE
    moved: bool = False
    inside: str = "code"
    agreed: int = 0
    keys_over: int = 0
    dismissed: int | None = None


def text_kind(before: str, language_id: str, path: str) -> str:
    """What the cursor at the end of `before` is in: `code`, `comment`, `string` or `prose`.

    Decided from its line and from open multi-line strings. The language is taken from the editor's language id, else
    from the file name.
    """
    suffix = _SUFFIXES.get(language_id.lower()) or PurePath(path).suffix.lower()
    if suffix in PROSE and (suffix or language_id.lower() in _NO_LANGUAGE):
        return "prose"
    seen = before[-SEARCHED_CHARACTERS:]
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


def of_cursor(facts: Facts) -> Features:
    """The features known before the engine is asked."""
    before, after = facts.line_before, facts.line_after
    edit = Edit.NONE if facts.moved else facts.edit
    stripped, last = before.strip(), before[-1:]
    is_word = last.isalnum() or last == "_"
    return {
        "newline": edit is Edit.NEWLINE,
        "deleted": edit is Edit.DELETED,
        "pasted": edit is Edit.PASTED,
        "accepted": edit is Edit.ACCEPTED,
        "moved": edit is Edit.NONE,
        "blank": not stripped,
        "word": is_word,
        "number": last.isdigit(),
        "dot": last == ".",
        "opened": last in ("(", "[", "{", ","),
        "closed": last in (")", "]", "}", ":", ";"),
        "space": last.isspace() and bool(stripped),
        "written": log1p(len(stripped)),
        "closers": bool(after.strip()) and not after.strip(_CLOSING_CHARACTERS),
        "midline": bool(after.strip(_CLOSING_CHARACTERS)),
        "midword": is_word and (after[:1].isalnum() or after[:1] == "_"),
        "comment": facts.inside == "comment",
        "string": facts.inside == "string",
        "prose": facts.inside == "prose",
        "dismissed": 0.0 if facts.dismissed is None else max(0.0, 1 - facts.dismissed / DISMISSAL_KEYS),
    }


def of_completion(facts: Facts, first_line: str, log_p: Sequence[float], is_part: bool = False) -> Features:
    """All features of a completion: of the cursor, its first line (or a part of it), and the log-probabilities of its
    tokens."""
    return of_cursor(facts) | {"agreed": log1p(facts.agreed)} | of_line(first_line, log_p, is_part)


def of_line(text: str, log_p: Sequence[float], is_part: bool = False) -> Features:
    """The features of the line or part alone, without the cursor's."""
    stripped = text.strip()
    return {
        "log_p": max(MIN_LOG_P, sum(log_p)),
        "p": exp(sum(log_p)),
        "sure": log1p(sum(each > -0.1 for each in log_p)),
        "length": log1p(len(stripped)),
        "short": len(stripped) <= 2,
        "letters": any(char.isalnum() for char in stripped),
        "part": is_part,
    }
