"""The features from which the gate computes a probability: the cursor's line, the last edit, the engine's tokens.

Features are 0 or 1 where nothing else is said.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import exp, log1p
from pathlib import PurePath

# The most characters that come in at once and still count as typed: a word from a menu, or from an input method.
MAX_TYPED_CHARACTERS = 24
# Keys after which a dismissal is forgotten.
DISMISSAL_KEYS = 40
# Lower log-probabilities count as this.
MIN_LOG_P = -8.0
# Characters before the cursor that are searched for strings and comments.
SEARCHED_CHARACTERS = 20_000

_CLOSING_CHARACTERS = " \t)]}>\"'`,;:"
PROSE = frozenset([".md", ".markdown", ".rst", ".txt", ".tex", ".adoc", ".org", ""])
_PYTHON = frozenset([".py", ".pyi", ".ipynb"])
_HASH = frozenset([*_PYTHON, ".rb", ".sh", ".bash", ".zsh", ".yml", ".yaml", ".toml", ".r", ".pl", ".mk", ".cfg"])
_DASHES = frozenset([".lua", ".sql", ".hs", ".elm", ".ada"])
# The suffix of a language's files, by what editors call the language.
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
# What editors say where they know no language.
_NO_LANGUAGE = frozenset(["", "plaintext", "text", "plain", "fundamental"])
# One that is not closed reaches to the end: looked for again from each of its quotes, it would take seconds.
_STRING = re.compile(r"([\"'`])(?:\\.|(?!\1)[^\\])*(\1|\\?\Z)")
_TRIPLE = ('"""', "'''")

Features = dict[str, float]


class Edit(Enum):
    NONE = "none"
    TYPED = "typed"
    NEWLINE = "newline"
    DELETED = "deleted"
    PASTED = "pasted"
    ACCEPTED = "accepted"


def kind_of_edit(removed: bool, text: str) -> Edit:
    """The kind of a change that inserts `text`, in place of other text if `removed`."""
    if not text:
        return Edit.DELETED if removed else Edit.NONE
    if not text.strip() and text[0] in "\r\n":
        return Edit.NEWLINE
    if len(text) <= MAX_TYPED_CHARACTERS and "\n" not in text and "\r" not in text:
        return Edit.TYPED
    return Edit.PASTED


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


def text_kind(before: str, language_id: str, path: str) -> str:
    """What the cursor at the end of `before` stands in: `code`, `comment`, `string` or `prose`.

    Known from its line and from strings of several lines. The language is what the editor says, else what the file's
    name says.
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
    """What is known before the engine is asked."""
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
    """What the engine's answer adds: its first line or a part of that, and the log-probabilities of the tokens that
    wrote it.
    """
    return of_cursor(facts) | {"agreed": log1p(facts.agreed)} | of_line(first_line, log_p, is_part)


def of_line(text: str, log_p: Sequence[float], is_part: bool = False) -> Features:
    """The same of the line or part alone."""
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
