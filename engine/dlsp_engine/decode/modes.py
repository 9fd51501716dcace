"""The lexer's modes as numbers, and the vocabulary by what its tokens have in them: with these, constraints on code
know in little time what each of all tokens would do.
"""

import re
from copy import copy
from functools import cache, cached_property
from pathlib import PurePath

import numpy as np

from dlsp_engine.decode.lexer import Lexer
from dlsp_engine.text.tokenizer import Tokenizer

CODE = 0  # the mode of plain code
MAX_LEXED_BYTES = 64_000  # of the text before a cursor, and of that behind it
NEW_LINE = ord("\n")
WHITE = b" \t\r\n"
PLAIN = re.compile(rb"[^()\[\]{}\"'`\\\n#/]*")  # bytes that change no mode, except that they end an empty string


class Modes:
    """What a `Lexer` is in: plain code, a kind of string, a comment. Modes are numbered; `after[mode][byte]` is the one
    behind a byte. For each mode, `code` says whether the next byte is code, `quote` is that of the string of one line
    that it is in, `escaped` whether a backslash is before, `open` whether it is a string of any kind. `python` says
    whether the language is Python.
    """

    def __init__(self, lexer: Lexer, python: bool) -> None:
        self.python = python
        found, lexers = {lexer.state: CODE}, [lexer]
        self.after: list[list[int]] = []
        for each in lexers:  # grows as modes are found
            row: list[int] = []
            for byte in range(256):
                twin = copy(each)
                twin.feed(chr(byte))
                if twin.state not in found:
                    found[twin.state] = len(lexers)
                    lexers.append(twin)
                row.append(found[twin.state])
            self.after.append(row)
        self.code = [each.in_code for each in lexers]
        self.open = [each.in_string for each in lexers]
        self.quote = [each.state[1] if each.state[0] == "string" else "" for each in lexers]
        self.escaped = [each.state[3] for each in lexers]

    def behind(self, text: bytes, mode: int = CODE) -> int:
        """Return the mode behind a text that begins in `mode`."""
        after = self.after
        for byte in text:
            mode = after[mode][byte]
        return mode


def modes_of(path: str) -> Modes:
    """Return the modes of a file's language, as far as `Lexer` tells languages apart, and Python."""
    lexer = Lexer(path)
    return _modes(lexer.comments, lexer.lifetimes, PurePath(path).suffix in (".py", ".pyi"))


@cache
def _modes(comments: str, lifetimes: bool, python: bool) -> Modes:
    return Modes(Lexer("a.rs" if lifetimes else "a.c" if comments == "//" else ""), python)


def before(text: str) -> bytes:
    """Return what is lexed of the text before a cursor: its last whole lines."""
    encoded = text.encode()
    if len(encoded) <= MAX_LEXED_BYTES:
        return encoded
    return encoded[encoded.find(b"\n", len(encoded) - MAX_LEXED_BYTES) + 1 :]


class Words:
    """The texts of a tokenizer's tokens, by id, and which of them are in need of a closer look."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.stops = np.array(sorted(tokenizer.stops - tokenizer.spelled.keys()), int)
        self.size = max(tokenizer.words, 1 + int(max(self.stops, default=-1)))

    @cached_property
    def bytes(self) -> list[bytes]:
        return [self.tokenizer.token_bytes(token) for token in range(self.tokenizer.words)]

    @cached_property
    def special(self) -> list[int]:
        """The tokens that may open or close a string, a comment or a bracket, or end a line."""
        return [token for token, word in enumerate(self.bytes) if not PLAIN.fullmatch(word)]

    def mask(self, allowed: np.ndarray, may_end: bool) -> np.ndarray:
        """Return `allowed` [words] with the end tokens."""
        mask = np.zeros(self.size, bool)
        mask[: len(allowed)] = allowed
        mask[self.stops] = may_end
        return mask
