"""Where a gap ends. Every rule is asked as each token is committed, so that no step is spent past the end."""

import re
from collections.abc import Callable
from pathlib import PurePath

BLANK = 16
"""Tokens of nothing but white space after which no more is expected; the deepest indentation takes two or three."""

Rule = Callable[[str], int | None]
"""Committed text -> where to cut it, or None while the gap goes on."""

_SLASH_COMMENTS = {
    *[".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".go", ".java", ".js", ".jsx", ".rs", ".swift", ".ts", ".tsx"]
}
_DEFINITION = re.compile(r"^[ \t]*(?:async\s+def|def|class|fn|func|function|pub\s+fn)\b", re.MULTILINE)
_BODY_LINE = re.compile(r"\n(?P<indent>[ \t]*)(?=[^\s])")


def rule(end: str, before: str, path: str = "") -> Rule:
    """The rule `end` (`token`, `line`, `block`, `body`) for a gap with the text `before` it."""
    comment = "//" if PurePath(path).suffix in _SLASH_COMMENTS else "#"
    if end == "line":
        return line_end
    if end == "block":
        return lambda text: _dedent(text, _block_indent(before, text), comment)
    if end == "body":
        # Ends at a line that is indented no deeper than the definition itself.
        definitions = list(_DEFINITION.finditer(before))
        floor = _indent(before[definitions[-1].start() :]) + 1 if definitions else 0
        return lambda text: _dedent(text, floor, comment)
    return lambda text: None


def stop_rule(stops: tuple[str, ...]) -> Rule:
    """Cuts before the first of the given texts."""

    def find(text: str) -> int | None:
        return min((at for stop in stops if (at := text.find(stop)) >= 0), default=None)

    return find


def blank(written: bytes, tokens: int) -> bool:
    """Whether what so many committed tokens wrote has been white space for too long."""
    return tokens >= BLANK and written.isspace()


def line_end(text: str) -> int | None:
    """The end of the first line that has more than white space in it."""
    lead = len(text) - len(text.lstrip())
    at = text.find("\n", lead)
    return None if at < 0 else len(text[:at].rstrip("\r"))


def _indent(text: str) -> int:
    """Columns of white space at the start of the text, a tab to the next multiple of 4."""
    column = 0
    for char in text:
        if char == " ":
            column += 1
        elif char == "\t":
            column += 4 - column % 4
        else:
            break
    return column


def _block_indent(before: str, text: str) -> int:
    """The indentation that a line must keep to belong to the block the gap stands in."""
    current = before[before.rfind("\n") + 1 :]
    if current.strip() == "":
        # The cursor stands on an empty line: the first line that comes decides.
        first = next((line for line in (current + text).split("\n") if line.strip()), "")
        return _indent(first)
    return _indent(current)


def _dedent(text: str, floor: int, comment: str) -> int | None:
    """The end of the last line before the first one, outside brackets and strings, that is indented below `floor`."""
    for match in _BODY_LINE.finditer(text):
        if _indent(match["indent"]) < floor and _is_open_ground(text[: match.start()], comment):
            return len(text[: match.start()].rstrip())
    return None


_LEXEME = r"""
    (?P<string> \"{3}[\s\S]*?(?:\"{3}|\Z) | '{3}[\s\S]*?(?:'{3}|\Z) | `[^`]*(?:`|\Z)
              | "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'? )
  | (?P<comment> %s [^\n]* )
  | (?P<open> [(\[{] )
  | (?P<close> [)\]}] )
"""
_TOKENS = {mark: re.compile(_LEXEME % re.escape(mark), re.VERBOSE) for mark in ("#", "//")}


def _is_open_ground(text: str, comment: str) -> bool:
    """Whether the end of `text` lies outside brackets and strings, as far as `text` itself tells."""
    depth = 0
    for match in _TOKENS[comment].finditer(text):
        if match["open"]:
            depth += 1
        elif match["close"]:
            depth = max(0, depth - 1)
        elif (string := match["string"]) and match.end() == len(text):
            quote = next((q for q in ('"""', "'''", "`") if string.startswith(q)), None)
            if quote and (len(string) < 2 * len(quote) or not string.endswith(quote)):
                return False
    return depth == 0
