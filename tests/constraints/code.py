"""Checkers of constraints on code that share nothing with the engine: they read whole texts by regular expressions."""

import re

_NO_CODE = re.compile(
    r'''
    """ (?s: .*? (?: """ | \Z ) ) | \'\'\' (?s: .*? (?: \'\'\' | \Z ) )
  | " (?: \\. | [^"\\\n] )* (?: " | \\? (?=\n) | \\? \Z )
  | ' (?: \\. | [^'\\\n] )* (?: ' | \\? (?=\n) | \\? \Z )
  | ` [^`]* (?: ` | \Z )
  | \# [^\n]*
''',
    re.VERBOSE,
)
_NAME = r"[A-Za-z_$\x80-\U0010ffff][\w$\x80-\U0010ffff]*"
_PART = re.compile(rf"(?P<name>{_NAME})|(?P<number>\d[\w$\x80-\U0010ffff]*)|(?P<white>\s+)|(?P<other>.)", re.DOTALL)
_VALUE_ENDS = set(")]}?!")
_CLOSING = {")": "(", "]": "[", "}": "{"}


def code(text: str) -> str:
    """The text with a `)` for each character of a string or a comment, behind which a dot is that of a member."""
    return _NO_CODE.sub(lambda match: ")" * len(match[0]), text)


def named(names: list[str], before: str, text: str) -> bool:
    """Whether each name that ends in `text`, behind a dot or before an opening bracket, is one of `names`. If `before`
    ends in a name behind a dot that begins none of them, nothing is required.
    """
    parts = list(_PART.finditer(code(before + text)))
    value, dotted = False, False  # whether the text so far ends in a value; in the dot of a member
    for at, part in enumerate(parts):
        whole, kind = part[0], part.lastgroup
        if kind == "name":
            called = at + 1 < len(parts) and parts[at + 1][0] == "("
            begun = whole[: max(0, len(before) - part.start())]
            if dotted and part.start() < len(before) < part.end() and not any(n.startswith(begun) for n in names):
                return True
            if (dotted or called) and part.end() + (not dotted) > len(before) and whole not in names:
                return False
        if kind != "white" or not dotted:
            dotted = whole == "." and value
        if kind != "white":
            value = kind == "name" or whole in _VALUE_ENDS
        elif parts[at - 1].lastgroup == "number":
            value = True
    return not dotted


def balanced(before: str, text: str, behind: str) -> bool:
    """Whether the brackets and strings of the whole are closed, if those of `before` and `behind` are not at fault."""
    open_before = [char for char in code(before) if char in _CLOSING.values()]
    own_line = behind.strip() in ("", ")") and (not behind.strip() or open_before in ([], ["("]))
    if not own_line:
        return True
    found: list[str] = []
    bare = _NO_CODE.sub("", before + text + behind)
    for char in bare:
        if char in _CLOSING.values():
            found.append(char)
        elif char in _CLOSING and (not found or found.pop() != _CLOSING[char]):
            return False
    return not found
