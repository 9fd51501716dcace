"""Cut a completion at a closing bracket without a matching opening bracket."""

import re

from dlsp.syntax.brackets import CLOSERS, OPENERS, brackets, unclosed

# Text before a lone `)` that needs no opening bracket: a list item's label, or a case of a shell script.
_LABEL = re.compile(r"""\s*(?:[\w$*?.^\-\[\]]|"[^"\n]*"|'[^'\n]*'|[ ]?\|[ ]?)++""")


def cut_unmatched(text: str, before: str) -> str:
    """`text` up to the first closing bracket that matches neither one opened in `text` nor one still open in
    `before`."""
    own: list[str] = []
    outer: list[str] | None = None  # computed only when needed: finding the brackets open before the cursor is slow
    for at, char in brackets(text):
        if char in OPENERS:
            own.append(char)
            continue
        if CLOSERS[char] in own:
            _close(own, char)
            continue
        outer = unclosed(before) if outer is None else outer
        if CLOSERS[char] in outer:
            own.clear()
            _close(outer, char)
            continue
        above = before + text[:at]
        # Count all brackets as well, because strings may have been recognised wrongly.
        if above.count(CLOSERS[char]) <= above.count(char) and not (char == ")" and _LABEL.fullmatch(_line(above))):
            return text[:at]
    return text


def _line(text: str) -> str:
    return text.rpartition("\n")[2]


def _close(stack: list[str], closer: str) -> None:
    while stack.pop() != CLOSERS[closer]:
        pass
