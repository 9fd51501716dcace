"""Allowed identifiers: after a dot, or where it is called, an answer has only names of a given set."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dlsp_engine.decode.combined import All
from dlsp_engine.decode.constraint import Constraint
from dlsp_engine.decode.modes import CODE, Modes, before, modes_of
from dlsp_engine.decode.name_places import (
    DEFINING,
    KEYWORDS,
    MEMBER,
    NAME,
    NOT_CALLED,
    OTHER,
    VALUE,
    Place,
    Places,
    ends_name,
    lead,
)
from dlsp_engine.text.prompt import Gap

MAX_KEPT_MASKS = 24
READ_BYTES = 400  # before the cursor, to know what name it is in


class Identifiers:
    """The requirement that names after a dot, and names that are called, are of `names`. Where a name is defined, it is
    free. It does not say what the whole answer is.
    """

    whole = False

    def __init__(self, names: Iterable[str], places: Places) -> None:
        self.places = places
        self.names = sorted({name.encode() for name in names})
        self._known = frozenset(self.names)
        self._begun = frozenset(name[:end] for name in [b"", *self.names] for end in range(len(name) + 1))
        self._masks: dict[tuple[int, Place], np.ndarray] = {}  # without end tokens, by the comments of a language

    def prepare(self, gap: Gap, standing: int) -> None:
        modes = modes_of(gap.path)
        in_names = (Place(CODE, MEMBER), Place(CODE, MEMBER, self.names[0]), Place(CODE, NAME, b"f"))
        for place in (VALUE, OTHER, DEFINING, *in_names):
            self.mask(modes, place)
        for text in (b'"', b"'", b'"a', b"'a", before(gap.written)):
            if mode := modes.behind(text):
                self.mask(modes, Place(mode, VALUE.kind))

    def begin(self, gap: Gap, standing: int, end: str = "token") -> Constraint:
        """As in `Requirement`. If the name in which the cursor is begins none of the names, nothing is required."""
        modes, written = modes_of(gap.path), before(gap.written)
        read, standing_bytes = written[: len(written) - standing], written[len(written) - standing :]
        place = Place(modes.behind(read[:-READ_BYTES]), VALUE.kind)
        for byte in read[-READ_BYTES:]:
            place = self.places.after(modes, place, byte) or Place(modes.after[place.mode][byte], OTHER.kind)
        behind = gap.suffix.encode()[:READ_BYTES]
        follows = behind[: len(lead(behind)) + 1] or b"\n"
        bound = Names(self, modes, place, follows)
        fits = self.after(modes, place, standing_bytes)
        if fits is None or (fits.kind == MEMBER and fits.name not in self._begun):
            return All([], self.places.words.tokenizer)
        return bound

    def after(self, modes: Modes, place: Place, word: bytes) -> Place | None:
        """Return the place behind a token; None if the token is not allowed."""
        for byte in word:
            new = self.places.after(modes, place, byte)
            if new is None or not self._allowed(place, new, byte):
                return None
            place = new
        return place

    def _allowed(self, place: Place, new: Place, byte: int) -> bool:
        begun = new.kind != MEMBER or new.name in self._begun
        return begun and (not ends_name(place, new, byte) or place.name in self._known)

    def mask(self, modes: Modes, place: Place) -> np.ndarray:
        """Return which tokens are allowed at a place, bool [words], without those that end."""
        key = id(modes), place
        if key not in self._masks:
            if len(self._masks) >= MAX_KEPT_MASKS:
                self._masks.clear()
            if place.kind == MEMBER:
                self._masks[key] = self._of_member(modes, place.name)
            elif place.kind == NAME:
                self._masks[key] = self._of_name(modes, place.name)
            else:
                self._masks[key] = self._of(modes, place)
        return self._masks[key]

    def _of(self, modes: Modes, place: Place) -> np.ndarray:
        """Return the mask of a place that is in no name of the set's concern."""
        allowed = np.ones(len(self.places.words.bytes), bool)
        for token, demands in self.places.demands(modes, place).items():
            allowed[token] = self._met(demands)
        return allowed

    def _of_member(self, modes: Modes, name: bytes) -> np.ndarray:
        places, allowed = self.places, np.zeros(len(self.places.words.bytes), bool)
        behind = self._of_rests(modes)
        for rest in self._rests(name):
            for end in range(1, len(rest) + 1):
                if (token := places.whole.get(rest[:end])) is not None:
                    allowed[token] = True
            if rest:
                led = places.led.get(rest, [])
                allowed[led] = behind[led]
            elif name:
                allowed |= behind & places.unled
        if not name:
            demands = places.demands(modes, Place(CODE, MEMBER))
            for token in places.nameless:
                allowed[token] = self._met(demands.get(token, (b"",)))
        return allowed

    def _of_name(self, modes: Modes, name: bytes) -> np.ndarray:
        places, behind = self.places, self._of_rests(modes)
        allowed = behind.copy()
        allowed[places.calling] = False
        for rest in {*self._rests(name), *(word[len(name) :] for word in NOT_CALLED if word.startswith(name))}:
            led = [token for token in places.led.get(rest, []) if places.calls[token]] if rest else places.called
            allowed[led] = behind[led]
        for keyword, kind in KEYWORDS.items():
            if keyword.startswith(name):
                rest = keyword[len(name) :]
                spaced = [token for token in places.led.get(rest, []) if places.spaced[token]] if rest else places.white
                after = self._of_rests(modes, kind)
                allowed[spaced] = after[spaced]
        return allowed

    def _of_rests(self, modes: Modes, kind: str = VALUE.kind) -> np.ndarray:
        """Return for each token whether what follows the part of a name with which it begins is allowed."""
        key = id(modes), Place(CODE, f"rest {kind}")
        if key not in self._masks:
            allowed = np.ones(len(self.places.words.bytes), bool)
            for token, demands in self.places.demands(modes, Place(CODE, kind), rests=True).items():
                allowed[token] = self._met(demands)
            self._masks[key] = allowed
        return self._masks[key]

    def _met(self, demands: tuple[bytes, ...] | None) -> bool:
        """Whether the names that a token needs are known: complete ones, and last one that has only begun."""
        if demands is None:
            return False
        *complete, begun = demands
        return begun in self._begun and all(name in self._known for name in complete)

    def _rests(self, name: bytes) -> list[bytes]:
        """Return how names go on that begin with `name`."""
        at, found = bisect_left(self.names, name), []
        while at < len(self.names) and self.names[at].startswith(name):
            found.append(self.names[at][len(name) :])
            at += 1
        return found


@dataclass
class Names:
    """The constraint of one answer. `follows` is what stands behind the cursor, up to the end of a name."""

    known = free = complete = False

    identifiers: Identifiers
    modes: Modes
    place: Place
    follows: bytes
    _before: list[Place] = field(default_factory=list)

    def allowed(self) -> np.ndarray:
        allowed = self.identifiers.mask(self.modes, self.place)
        return self.identifiers.places.words.mask(allowed, self._may_end(self.place))

    def given(self) -> None:
        return None

    def advance(self, token: int) -> None:
        self._before.append(self.place)
        word = self.identifiers.places.words.tokenizer.token_bytes(token)
        self.place = self.identifiers.after(self.modes, self.place, word) or self.place

    def rollback(self, count: int) -> None:
        if count:
            self.place = self._before[-count]
            del self._before[-count:]

    def valid(self, tokens: Sequence[int]) -> int:
        place, tokenizer = self.place, self.identifiers.places.words.tokenizer
        for at, token in enumerate(tokens):
            word = tokenizer.token_bytes(token)
            if token in tokenizer.stops and not word:
                return at + self._may_end(place)
            if not word or (found := self.identifiers.after(self.modes, place, word)) is None:
                return at
            place = found
        return len(tokens)

    def forced(self) -> list[int]:
        return []

    def _may_end(self, place: Place) -> bool:
        hanging = place.kind == MEMBER and not place.name and self.follows[:1].isspace()
        return not hanging and self.identifiers.after(self.modes, place, self.follows) is not None
