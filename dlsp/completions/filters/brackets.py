"""Cut a completion at a bracket that closes nothing."""

import re

from dlsp.syntax.brackets import CLOSERS, OPENERS, brackets, unclosed

# What a `)` alone ends: the mark of a list item, or a case of a shell script.
_LABEL = re.compile(r"""\s*(?:[\w$*?.^\-\[\]]|"[^"\n]*"|'[^'\n]*'|[ ]?\|[ ]?)++""")


def cut_unmatched(text: str, before: str) -> str:
    """`text` up to a bracket that closes nothing: neither what `text` opened nor what is open before the cursor."""
    own: list[str] = []
    outer: list[str] | None = None  # what is open before the cursor takes long to find, and seldom decides
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
        # Counted once more, as strings may have been taken wrongly.
        if above.count(CLOSERS[char]) <= above.count(char) and not (char == ")" and _LABEL.fullmatch(_line(above))):
            return text[:at]
    return text


def _line(text: str) -> str:
    return text.rpartition("\n")[2]


def _close(stack: list[str], closer: str) -> None:
    while stack.pop() != CLOSERS[closer]:
        pass
