"""Cut an answer where it adds syntax errors to the document."""

import re
from collections.abc import Callable, Iterator

from dlsp.syntax.brackets import CLOSERS, OPENERS, unclosed
from dlsp.syntax.languages import Language
from dlsp.syntax.source import SHARED, Source, encoded

# Give up after this many consecutive line ends with errors: what follows is broken too.
MAX_BROKEN_BORDERS = 3
# Bytes around the cursor that are parsed: text found broken in the small range is checked in the larger one.
SEARCH_BYTES = (1_000, 3_000)
# With this many errors around the cursor the check is skipped: it is prose, a template, or unknown to the grammar.
MAX_ERRORS = 20
# Characters before the cursor that are searched for brackets and strings that are still open.
OPEN_SEARCH_CHARACTERS = 4_000
_OPEN = r"[^;}]\Z|\{\n"
_WORDS = ((r"\w", "\nend"), (r"\w[\s\S]*\n", "\nend\nend"))
_C_LIKE = ((_OPEN, ";"), (_OPEN, " {}"), (r"\btry\b", " finally {}"), ("@", "\nint x;"))
# By language family: a pattern, and the text that completes code matching it, in addition to closing brackets.
_TAILS = {
    "bash": (
        (r"\bif\b", "\nthen"),
        (r"\b(?:for|until|while)\b", "\ndo"),
        (r"\bif\b", "\nfi"),
        (r"\bdo\b", "\ndone"),
        (r"\bcase\b", "\nesac"),
        (r"\bdo\b[\s\S]*\bif\b", "\nfi\ndone"),
        (r"\bif\b[\s\S]*\bdo\b", "\ndone\nfi"),
    ),
    "c": ((_OPEN, ";"), (r"\btypedef\b", " x;"), (r"\btemplate\b", "\nint x;"), ("#if", "\n#endif")),
    "c_sharp": _C_LIKE,
    "go": ((_OPEN, " {}"),),
    "java": _C_LIKE,
    "javascript": ((_OPEN, " {}"),),
    "lua": _WORDS,
    "ruby": _WORDS,
    "rust": ((_OPEN, ";"), (_OPEN, " {}")),
}
# Delimiters of multi-line strings and comments.
_LONG = {'"""': '"""', "'''": "'''", "/*": "*/", "`": "`"}
_MARKUP = re.compile(r"<([A-Za-z][\w.]*|(?=>))|</|/>|[()\[\]{}]")


def cut_broken(text: str, before: str, after: str, source: Source | None) -> str:
    """`text` up to its last line end at which the document has no more syntax errors than without the text.

    Unfinished constructs count as finished: open brackets, tags and strings as closed, and a block's header as having a
    block. Only the surroundings are parsed, so that a long document takes no longer than a short one. The child process
    parses them, all versions in one call; if it takes too long, the text is returned unchanged.
    """
    kept = text
    for reach in SEARCH_BYTES if source and text else ():
        part = source.around(before, after, reach) if source else None
        kept = SHARED.cut(source.language.name, text, *part) if source and part else text
        if kept == text:
            break
    return kept


def cut(text: str, before: str, after: str, source: Source, is_late: Callable[[], bool]) -> str:
    """The same for a short document between whose parts `before` and `after` the text belongs: what the child does.

    `source` is new. Once `is_late()`, what is not yet checked counts as free of errors.
    """
    source.update(before + after)
    cursor = len(encoded(before))
    allowed = source.errors(source.tree, cursor)
    # The text need not supply what is missing after a bracket or quote that is already closed.
    if allowed and not after.split("\n", 1)[0].strip():
        allowed = min(allowed, _without_line(source, cursor))
    if allowed >= MAX_ERRORS or is_late() or _fits(text, before, after, source, allowed):
        return text
    lines, kept, failed = text.split("\n"), "", 0
    for count in range(1, len(lines)):
        if failed == MAX_BROKEN_BORDERS or is_late():
            break
        border = "\n".join(lines[:count]).rstrip()
        # A comma before the cut may have to be removed as well.
        ends = filter(None, dict.fromkeys([border, border.removesuffix(",")]))
        found = next((each for each in ends if _fits(each, before, after, source, allowed)), "")
        kept, failed = (found, 0) if found else (kept, failed + bool(border))
    return kept


def _without_line(source: Source, cursor: int) -> int:
    """The number of errors without the cursor's line, which is unfinished and may be an error itself."""
    start = source.bytes.rfind(b"\n", 0, cursor) + 1
    end = source.bytes.find(b"\n", cursor) % (len(source.bytes) + 1)
    return source.errors(source.imagined(source.bytes[:start] + source.bytes[end:]), start)


def _fits(text: str, before: str, after: str, source: Source, allowed: int) -> bool:
    cursor = len(encoded(before))
    documents = (encoded(before + text + ending + after) for ending in _endings(text, before, source.language))
    return any(source.errors(source.imagined(document), cursor) <= allowed for document in documents)


def _endings(text: str, before: str, language: Language) -> Iterator[str]:
    """Yield texts that may complete what `text` leaves unfinished, the likeliest first."""
    near, lines = before[-OPEN_SEARCH_CHARACTERS:] + text, before.rpartition("\n")[2] + text
    value = "" if text[-1:].isalnum() or text[-1:] in CLOSERS else "x"
    own = _finish(text)
    closers = dict.fromkeys(["", own, _finish(near), own and f"{own},", _markup(lines)])
    for begun in dict.fromkeys(["", value, _open_string(text), _open_string(near)]):
        yield from (begun + closer for closer in closers)
    for mark, tail in _TAILS.get(language.family, ()):
        if re.search(mark, lines):
            yield from (closer + tail for closer in closers)


def _open_string(text: str) -> str:
    """The closing delimiter of a multi-line string or comment that the text leaves open; "" if there is none."""
    for begin, close in _LONG.items():
        if text.count(begin) % 2 == 1 if begin == close else text.rfind(begin) > text.rfind(close):
            return close
    return ""


def _finish(text: str) -> str:
    return "".join(OPENERS[char] for char in reversed(unclosed(text)))


def _markup(text: str) -> str:
    """What closes the brackets and tags that the text leaves open."""
    begun: list[str] = []
    for found in _MARKUP.finditer(text):
        token, name = found[0], found[1]
        if name is not None or token in OPENERS:
            begun.append(OPENERS.get(token, f"</{name}>"))
        elif begun and (token == begun[-1] or (token[0] in "</" and begun[-1][0] == "<")):
            begun.pop()
    return "".join(reversed(begun))
