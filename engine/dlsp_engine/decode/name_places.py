"""Where in code a name is a member or is called, byte by byte, and what the tokens of a vocabulary need there."""

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dlsp_engine.decode.modes import CODE, Modes, Words

# Kinds of places. In a name: one after a dot, one that may be called, one that may be anything.
MEMBER, NAME, FREE = "member", "name", "free"
_VALUE, _OTHER, _DEFINING = "value", "other", "defining"
# In the line of an import; in the brackets before the name of a method, as in Go's `func (s *Server) Name`.
_IMPORT, _RECEIVER = "import", "receiver"

# Behind these words, names are new; or a dot stands for no member.
KEYWORDS = {
    **dict.fromkeys((b"def", b"class", b"fn", b"func", b"fun", b"function", b"struct", b"enum", b"trait"), _DEFINING),
    **dict.fromkeys((b"interface", b"impl"), _DEFINING),
    **dict.fromkeys((b"from", b"import", b"package", b"namespace", b"using", b"use", b"include"), _IMPORT),
    **dict.fromkeys((b"return", b"in", b"case", b"else", b"as"), _OTHER),
}
# Words before a bracket that call nothing.
NOT_CALLED = frozenset(
    b"if elif while for foreach switch match when until unless catch except with return yield await throw assert not "
    b"and or in is lambda function func fun fn async sizeof typeof super new delete void constructor".split()
)

_LEAD = re.compile(rb"[A-Za-z0-9_$\x80-\xff]*")
_NAME_BYTES = frozenset(byte for byte in range(256) if _LEAD.fullmatch(bytes([byte])))
_WHITE = frozenset(b" \t\r\n")
_VALUE_ENDS = frozenset(b")]}\"'`?!")
_DIGITS = frozenset(b"0123456789")
_IMPORT_BYTES = _NAME_BYTES | frozenset(b" \t.*:,{}<>/-")
# What may follow a dot besides a name, but not in Python: Go's `x.(T)` and its lines that end in a dot, JavaScript's
# `x?.(`, `x?.[` and `x.#private`, Rust's `x.0`.
_LOOSE = frozenset(b"([#\t\r\n") | _DIGITS
_NEEDING = re.compile(rb"[.(]|^[\[#\t\r\n0-9]")


def lead(text: bytes) -> bytes:
    """Return the part of a name with which a text begins."""
    found = _LEAD.match(text)
    return found[0] if found else b""


@dataclass(frozen=True)
class Place:
    """A place in code: the lexer's mode and one of the kinds. `name` is what is written of a MEMBER or NAME."""

    mode: int
    kind: str
    name: bytes = b""


@dataclass(frozen=True)
class _Transition:
    """Where a byte leads from all places of one mode and kind that have a name, or of those that have none. `grows`:
    the byte is of the name there.
    """

    mode: int
    kind: str
    grows: bool
    in_code: bool


def ends_name(place: Place, new: Place, byte: int) -> bool:
    """Whether a byte that leads from one place to the next ends a name that has to be known."""
    if place.kind == MEMBER:
        return bool(place.name) and len(new.name) <= len(place.name)
    return place.kind == NAME and byte == ord("(") and place.name not in NOT_CALLED


VALUE, OTHER, DEFINING = Place(CODE, _VALUE), Place(CODE, _OTHER), Place(CODE, _DEFINING)


class Places:
    """The vocabulary by the names in its tokens. What tokens need does not depend on which names are known."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self._demands: dict[tuple[int, Place, bool], dict[int, tuple[bytes, ...] | None]] = {}
        self._transitions: dict[int, dict[tuple[int, str, bool, int], _Transition | None]] = {}  # by the modes' id

    @staticmethod
    def after(modes: Modes, place: Place, byte: int) -> Place | None:
        """Return the place behind a byte; None if it cannot follow a dot."""
        mode = modes.after[place.mode][byte]
        if not (modes.code[place.mode] and modes.code[mode]):
            return Place(mode, _VALUE) if place.kind != MEMBER or place.name else None
        kind, name = place.kind, place.name
        if kind == MEMBER and not name:
            return Places._behind_dot(modes, mode, byte)
        if kind == _IMPORT and byte in _IMPORT_BYTES:
            return Place(mode, _IMPORT)
        if kind == _RECEIVER or (kind == _DEFINING and byte == ord("(")):
            return Place(mode, _DEFINING if byte == ord(")") else _RECEIVER)
        if byte in _NAME_BYTES:
            return Places._in_name(mode, kind, name, byte)
        if byte == ord("."):
            return Place(mode, MEMBER) if kind in (_VALUE, NAME, MEMBER) else Place(mode, _OTHER)
        if byte in _WHITE:
            if kind == NAME:
                return Place(mode, KEYWORDS.get(name, _VALUE))
            return Place(mode, _VALUE if kind in (MEMBER, FREE, _IMPORT) else kind)
        return Place(mode, _VALUE if byte in _VALUE_ENDS else _OTHER)

    @staticmethod
    def _behind_dot(modes: Modes, mode: int, byte: int) -> Place | None:
        if byte == ord("."):  # a range, as in `a..b`
            return Place(mode, _OTHER)
        if modes.python or byte not in _LOOSE:
            return Place(mode, MEMBER, bytes([byte])) if byte in _NAME_BYTES else None
        if byte in _DIGITS:
            return Place(mode, FREE)
        return Place(mode, _OTHER if byte in b"([" else MEMBER)

    @staticmethod
    def _in_name(mode: int, kind: str, name: bytes, byte: int) -> Place:
        if kind in (MEMBER, NAME):
            return Place(mode, kind, name + bytes([byte]))
        if kind in (FREE, _DEFINING) or byte in _DIGITS:
            return Place(mode, FREE)
        return Place(mode, NAME, bytes([byte]))

    def demands(self, modes: Modes, place: Place, rests: bool = False) -> dict[int, tuple[bytes, ...] | None]:
        """Return what tokens need at a place: the names that have to be known, and last the beginning of a name that
        has to be begun, which may be empty; None if a token is never allowed. Tokens that need nothing are left out.
        With `rests`, the part of a name with which a token begins is not looked at.
        """
        key = (id(modes), place, rests)
        if key not in self._demands:
            found: dict[int, tuple[bytes, ...] | None] = {}
            for token in self._needing:
                word = self.words.bytes[token]
                needed = self._needed(modes, place, word[len(self.leads[token]) :] if rests else word)
                if needed != (b"",):
                    found[token] = needed
            self._demands[key] = found
        return self._demands[key]

    def _needed(self, modes: Modes, place: Place, word: bytes) -> tuple[bytes, ...] | None:
        """As `after` and `ends_name` say byte by byte, which are asked once for each kind of step: there are a million
        bytes to read before the first suggestion in a language.
        """
        transitions = self._transitions.setdefault(id(modes), {})
        mode, kind, name = place.mode, place.kind, place.name
        names: list[bytes] = []
        for byte in word:
            step = mode, kind, not name, byte
            if step not in transitions:
                transitions[step] = self._transition(modes, Place(mode, kind, name), byte)
            transition = transitions[step]
            if transition is None:
                return None
            if name and not transition.grows and (kind == MEMBER or (byte == ord("(") and name not in NOT_CALLED)):
                names.append(name)
            keyword = kind == NAME and byte in _WHITE and transition.in_code
            kind = KEYWORDS.get(name, _VALUE) if keyword else transition.kind
            mode, name = transition.mode, name + bytes([byte]) if transition.grows else b""
        return (*names, name if kind == MEMBER else b"")

    @staticmethod
    def _transition(modes: Modes, place: Place, byte: int) -> "_Transition | None":
        new = Places.after(modes, place, byte)
        return new and _Transition(new.mode, new.kind, bool(new.name), modes.code[place.mode] and modes.code[new.mode])

    @cached_property
    def leads(self) -> list[bytes]:
        return [lead(word) for word in self.words.bytes]

    @cached_property
    def whole(self) -> dict[bytes, int]:
        """The tokens that are a part of a name and nothing else."""
        pairs = zip(self.leads, self.words.bytes, strict=True)
        return {word: token for token, (led, word) in enumerate(pairs) if word and led == word}

    @cached_property
    def led(self) -> dict[bytes, list[int]]:
        """The tokens that begin with a part of a name and go on, by that part."""
        found: dict[bytes, list[int]] = {}
        for token, (led, word) in enumerate(zip(self.leads, self.words.bytes, strict=True)):
            if led and led != word:
                found.setdefault(led, []).append(token)
        return found

    @cached_property
    def _needing(self) -> list[int]:
        return [token for token, word in enumerate(self.words.bytes) if _NEEDING.search(word)]

    @cached_property
    def unled(self) -> np.ndarray:
        """Which tokens do not begin with a part of a name, bool [words]."""
        pairs = zip(self.leads, self.words.bytes, strict=True)
        return np.array([bool(word) and not led for led, word in pairs], bool)

    @cached_property
    def nameless(self) -> list[int]:
        """The tokens that may follow a dot and do not begin with a name."""
        return [
            token for token, word in enumerate(self.words.bytes) if word[:1] == b"." or _LOOSE.intersection(word[:1])
        ]

    @cached_property
    def calls(self) -> np.ndarray:
        """Which tokens have an opening bracket behind the part of a name with which they begin, bool [words]."""
        return self._followed(frozenset(b"("))

    @cached_property
    def spaced(self) -> np.ndarray:
        """Which tokens have white space there."""
        return self._followed(_WHITE)

    @cached_property
    def calling(self) -> np.ndarray:
        return np.flatnonzero(self.calls)

    @cached_property
    def called(self) -> list[int]:
        """The tokens that begin with an opening bracket."""
        return np.flatnonzero(self.calls & self.unled).tolist()

    @cached_property
    def white(self) -> list[int]:
        """The tokens that begin with white space."""
        return np.flatnonzero(self.spaced & self.unled).tolist()

    def _followed(self, by: frozenset[int]) -> np.ndarray:
        pairs = zip(self.leads, self.words.bytes, strict=True)
        return np.array([word[len(led) : len(led) + 1] != b"" and word[len(led)] in by for led, word in pairs], bool)
