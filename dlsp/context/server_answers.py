"""What the editor's other language servers told about the place at the cursor, as comments above its line."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dlsp.context.asked import Place, place
from dlsp.context.tokens import head, tokens
from dlsp.ignore.values import without_secrets
from dlsp.syntax.languages import Language

# Tokens of all comments above a line.
MAX_TOKENS = 64
# Errors are shown of lines at most so many rows from the cursor's, and at most so many of them.
ROWS_AROUND, MAX_ERRORS = 20, 2
# Characters shown of a line with an error.
MAX_LINE = 60
_FENCED = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
# "(variable) ", as some servers begin.
_KIND = re.compile(r"\A\([\w ]+\) ")
_STRING = re.compile(r"\"(?:\\.|[^\"\\])*\"|(?<!\w)'(?:\\.|[^'\\])*'(?!\w)")
_WORD = re.compile(r"[^\W\d]\w*")
_TELL_NOTHING = """
any class const def enum final func function import interface let module mut namespace package private public static
struct type unknown var
"""
# Words that say nothing about what a name has.
_FILLERS = frozenset(_TELL_NOTHING.split())


@dataclass(frozen=True)
class Diagnostic:
    """An error in a row of the document."""

    row: int
    message: str


@dataclass(frozen=True)
class Answer:
    """What was told about a place: the hover of the name before the dot, in Markdown or plain text, the label of the
    call's signature, and the errors in the document."""

    hover: str = ""
    signature: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()


class ServerAnswers:
    """The answers about places in the row that was asked about last, of each document; paths are relative to the
    workspace.

    One thread may note while others read: the answers are replaced, never changed.
    """

    def __init__(self) -> None:
        self._answers: dict[str, dict[Place, Answer]] = {}

    def note(self, path: str, about: Place, answer: Answer) -> None:
        """Note an answer about a place of a document."""
        known = self._answers.get(path, {})
        same_row = {each: told for each, told in known.items() if each.row == about.row}
        self._answers = {**self._answers, path: {**same_row, about: answer}}

    def forget(self, path: str) -> None:
        """The document was closed."""
        self._answers = {each: told for each, told in self._answers.items() if each != path}

    def comments(self, path: str, before: str, after: str, language: Language, without: Collection[str]) -> list[str]:
        """The comments about the place between `before` and `after`, without indentation; [] if nothing was told.

        `without` has `types` or `diagnostics` if these are not wanted.
        """
        answers = self._answers.get(path)
        if not answers or not language.comment:
            return []
        here = place(before)
        answer = answers.get(here)
        return list(_comments(here, answer, before, after, language, without)) if answer else []


def line_start(before: str) -> int:
    """The offset in `before` where the text of its last line begins, behind the indentation."""
    at = max(before.rfind("\n"), before.rfind("\r")) + 1
    return len(before) - len(before[at:].lstrip(" \t"))


def above_last_line(prefix: str, middle: str, comments: Collection[str]) -> str:
    """`middle`, what was typed behind `prefix`, with comments above its last line; as it is where the text of that line
    begins in the prefix."""
    text = prefix + middle
    at = line_start(text)
    indentation = text[text.rfind("\n") + 1 : at]
    at -= len(prefix)
    if at < 0:
        return middle
    return middle[:at] + "".join(f"{each}\n{indentation}" for each in comments) + middle[at:]


def _comments(
    here: Place, answer: Answer, before: str, after: str, language: Language, without: Collection[str]
) -> Iterator[str]:
    told: list[str] = []
    if "types" not in without:
        told += [_declaration(answer.hover, here.owner), _signature(answer.signature, here.called)]
    if "diagnostics" not in without:
        told += _errors(answer.diagnostics, here.row, before, after)
    left = MAX_TOKENS
    for text in told:
        comment = _cut(f"{language.comment} {without_secrets(text)}", left)
        if text and comment:
            yield comment
            left -= tokens(comment) + 1


def _declaration(hover: str, owner: str) -> str:
    """The line of a hover that declares the name `owner`, "" if it says nothing about what the name has.

    It is the first code in the text, or a first paragraph with the name in it. Code without a blank is a path, ahead of
    the declaration. Values of strings are left out: they may be of a file that is never read.
    """
    paragraph = hover.strip().split("\n\n")[0]
    codes = _FENCED.findall(hover) or ([paragraph] if owner in _WORD.findall(paragraph) else [])
    text = _one_line(next((code for code in codes if " " in code.strip()), ""))
    said = [word for word in _WORD.findall(text) if word != owner and word.lower() not in _FILLERS]
    return text if said else ""


def _signature(label: str, called: str) -> str:
    """A call's signature on one line; some servers leave out the name."""
    return _one_line(f"{called}{label}" if label.startswith("(") else label)


def _errors(diagnostics: Collection[Diagnostic], row: int, before: str, after: str) -> Iterator[str]:
    """The errors nearest to the cursor, but not in its own line, which is only begun."""
    near = sorted(diagnostics, key=lambda each: abs(each.row - row))
    near = [each for each in near if 0 < abs(each.row - row) <= ROWS_AROUND][:MAX_ERRORS]
    lines = (before + after).split("\n") if near else []
    for each in near:
        if each.row < len(lines):
            yield f"error in `{lines[each.row].strip()[:MAX_LINE]}`: {each.message.strip().partition(chr(10))[0]}"


def _one_line(text: str) -> str:
    joined = " ".join(_KIND.sub("", _STRING.sub('"..."', text.strip())).split())
    return joined.replace("( ", "(").replace(" )", ")").replace(",)", ")")


def _cut(comment: str, most: int) -> str:
    """At most `most` tokens of a comment, up to a comma; "" if there is none in these."""
    if tokens(comment) <= most:
        return comment
    whole, comma, _ = comment[: head(comment, max(0, most - 2))].rpartition(",")
    return f"{whole}{comma} ..." if comma else ""
