"""Balanced code: an answer closes the brackets and strings that it opens, and leaves open what the text behind the
cursor closes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dlsp_engine.decode.combined import All
from dlsp_engine.decode.constraint import Constraint
from dlsp_engine.decode.modes import CODE, MAX_LEXED_BYTES, NEW_LINE, WHITE, Modes, Words, before, modes_of
from dlsp_engine.text.prompt import Gap

CLOSED = dict(zip(b")]}", b"([{", strict=True))  # closing bracket -> opening bracket
OPENING = frozenset(CLOSED.values())
MAX_KEPT_MASKS = 16


@dataclass(frozen=True)
class Effect:
    """What a text does to the brackets around it. `closes` are its closing brackets of what was open before, in order,
    `opens` the brackets that it leaves open, outermost first; `mode` is the lexer's behind it. If it ends the answer's
    line, all this counts up to the line break only.
    """

    closes: bytes
    opens: bytes
    mode: int
    ends: bool = False


def effect(modes: Modes, word: bytes, mode: int, solid: bool, line: bool) -> Effect | None:
    """Return the effect of a token that comes in `mode`; None if it cuts off a string at the end of a line, or closes a
    bracket of its own by one of another kind. `line` says whether a line break ends the answer, except before all else;
    `solid` whether something else was before.
    """
    closes, opens = bytearray(), bytearray()
    for byte in word:
        if byte == NEW_LINE:
            if line and solid:
                return Effect(bytes(closes), bytes(opens), mode, True)
            if modes.quote[mode] and not modes.escaped[mode]:
                return None
        elif modes.code[mode]:
            if byte in OPENING:
                opens.append(byte)
            elif byte in CLOSED and not opens:
                closes.append(byte)
            elif byte in CLOSED and opens.pop() != CLOSED[byte]:
                return None
        solid = solid or byte not in WHITE
        mode = modes.after[mode][byte]
    return Effect(bytes(closes), bytes(opens), mode)


@dataclass
class Target:
    """What must be open where the answer ends: the brackets `stack`, outermost first, or else the brackets `more`; and
    the string or comment of the lexer's `mode`, if that is one. The answer must not close the first `kept` brackets of
    those that are open at the cursor.
    """

    stack: bytes
    kept: int
    mode: int
    more: bytes


@dataclass
class Table:
    """What each token does in one mode of the lexer."""

    number: np.ndarray  # int32 [words]: by token, the index in `effects`
    effects: list[Effect | None]  # None: the token is never allowed there


class Balance:
    """The requirement that answers are balanced code. It does not say what the whole answer is."""

    whole = False

    def __init__(self, words: Words) -> None:
        self.words = words
        self._tables: dict[tuple[int, int, bool, bool], Table] = {}

    def prepare(self, gap: Gap, standing: int) -> None:
        modes = modes_of(gap.path)
        strings = (modes.behind(begun) for begun in (b'"', b"'", b'"a', b"'a"))
        for mode in {CODE, *strings, modes.behind(before(gap.written))}:
            for line, solid in ((False, True), (True, True), (True, False)):
                self.table(modes, mode, solid, line)

    def begin(self, gap: Gap, standing: int, end: str = "token") -> Constraint:
        """As in `Requirement`. Where what stands already is not balanced, nothing is required."""
        modes, written = modes_of(gap.path), before(gap.written)
        stack, mode = _open(modes, written)
        target = _target(modes, stack, mode, gap.suffix.encode()[:MAX_LEXED_BYTES])
        stack, mode = _open(modes, written[: len(written) - standing])
        balanced = Balanced(self, modes, State(mode, stack), target, end == "line")
        healed = balanced.after(balanced.state, written[len(written) - standing :])
        return balanced if healed else All([], self.words.tokenizer)

    def table(self, modes: Modes, mode: int, solid: bool, line: bool) -> Table:
        solid = solid or not line  # it matters only there
        key = (id(modes), mode, solid, line)
        if key not in self._tables:
            number = np.zeros(len(self.words.bytes), np.int32)
            numbers: dict[Effect | None, int] = {Effect(b"", b"", CODE): 0}
            for token in self.words.special:
                found = effect(modes, self.words.bytes[token], mode, solid, line)
                if found and not found.ends:  # what it opens does not matter, or where it leads
                    found = Effect(found.closes, b"", CODE)
                number[token] = numbers.setdefault(found, len(numbers))
            self._tables[key] = Table(number, list(numbers))
        return self._tables[key]


@dataclass(frozen=True)
class State:
    """A place in an answer: the lexer's mode, the open brackets, outermost first, and whether something was written
    besides white space.
    """

    mode: int
    stack: bytes
    solid: bool = False


@dataclass
class Balanced:
    """The constraint of one answer. `line` says whether it ends with its first line that is not blank."""

    known = free = complete = False

    balance: Balance
    modes: Modes
    state: State
    target: Target
    line: bool
    _before: list[State] = field(default_factory=list)
    _masks: dict[State, np.ndarray] = field(default_factory=dict)  # bool [words]: which tokens are allowed

    def allowed(self) -> np.ndarray:
        state, words = self.state, self.balance.words
        if state not in self._masks:
            if len(self._masks) >= MAX_KEPT_MASKS:
                self._masks.clear()
            table = self.balance.table(self.modes, state.mode, state.solid, self.line)
            verdicts = np.array([self._allows(state, each) for each in table.effects], bool)
            self._masks[state] = words.mask(verdicts[table.number], self._may_end(state.mode, state.stack))
        return self._masks[state]

    def given(self) -> None:
        return None

    def advance(self, token: int) -> None:
        self._before.append(self.state)
        state = self.after(self.state, self.balance.words.tokenizer.token_bytes(token))
        self.state = state or self.state

    def rollback(self, count: int) -> None:
        if count:
            self.state = self._before[-count]
            del self._before[-count:]

    def valid(self, tokens: Sequence[int]) -> int:
        state, tokenizer = self.state, self.balance.words.tokenizer
        for at, token in enumerate(tokens):
            word = tokenizer.token_bytes(token)
            if token in tokenizer.stops and not word:
                return at + self._may_end(state.mode, state.stack)
            if not word or (found := self.after(state, word)) is None:
                return at
            state = found
        return len(tokens)

    def forced(self) -> list[int]:
        return []

    def after(self, state: State, word: bytes) -> State | None:
        """Return the state behind a token; None if it is not allowed."""
        modes, found = self.modes, effect(self.modes, word, state.mode, state.solid, self.line)
        if not self._allows(state, found) or not found:
            return None
        stack = state.stack[: len(state.stack) - len(found.closes)] + found.opens
        solid = state.solid or bool(word.strip(WHITE))
        # The answer has ended, if not all that it has written so far was in the document before.
        mode = modes.after[found.mode][NEW_LINE] if found.ends else found.mode
        return State(mode, stack, solid and not found.ends)

    def _allows(self, state: State, found: Effect | None) -> bool:
        if found is None:
            return False
        left = len(state.stack) - len(found.closes)
        if found.closes and left < self.target.kept:
            return False
        if any(state.stack[-1 - at] != CLOSED[bracket] for at, bracket in enumerate(found.closes)):
            return False
        return not found.ends or self._may_end(found.mode, state.stack[:left] + found.opens)

    def _may_end(self, mode: int, stack: bytes) -> bool:
        modes, wanted = self.modes, self.target.mode
        if modes.open[wanted]:
            closed = mode == wanted or (modes.quote[mode] == modes.quote[wanted] != "" and not modes.escaped[mode])
        else:
            closed = not modes.open[mode]
        return closed and stack in (self.target.stack, self.target.more)


def _open(modes: Modes, text: bytes, mode: int = CODE) -> tuple[bytes, int]:
    """Return the brackets that are open behind a text, outermost first, and the mode there."""
    stack = bytearray()
    for byte in text:
        if modes.code[mode]:
            if byte in OPENING:
                stack.append(byte)
            elif byte in CLOSED and stack and stack[-1] == CLOSED[byte]:
                stack.pop()
        mode = modes.after[mode][byte]
    return bytes(stack), mode


def _closes(modes: Modes, text: bytes, mode: int) -> bytes:
    """Return the brackets that a text closes and does not open, as the opening ones, in its order."""
    own, closed = bytearray(), bytearray()
    for byte in text:
        if modes.code[mode]:
            if byte in OPENING:
                own.append(byte)
            elif byte in CLOSED and own:
                own.pop()
            elif byte in CLOSED:
                closed.append(CLOSED[byte])
        mode = modes.after[mode][byte]
    return bytes(closed)


def _target(modes: Modes, stack: bytes, mode: int, behind: bytes) -> Target:
    """Return what must be open where the answer ends, if `stack` is open at the cursor in `mode`, and `behind` follows.

    The text behind closes the outermost brackets. It may close more than are open: those in the cursor's own line the
    answer has to open; those further down it may, since there the lexer may have misread something.
    """
    rest = behind[: behind.find(b"\n") + 1] or behind
    ends = [mode, CODE, modes.behind(b'"a'), modes.behind(b"'a")]
    mode = next((each for each in ends if _reads(modes, each, rest, behind)), CODE)
    needed = _closes(modes, behind, mode)[::-1]
    here = len(_closes(modes, rest, mode))
    more = needed if len(needed) > len(stack) and needed.startswith(stack) else None
    if len(needed) > len(stack):
        needed = needed[len(needed) - max(len(stack), here) :]
    kept = next((at for at, (a, b) in enumerate(zip(stack, needed, strict=False)) if a != b), None)
    if kept is not None or len(behind) == MAX_LEXED_BYTES:  # what is read does not match, or is not all
        return Target(stack, len(stack), mode, more or stack)
    return Target(needed, min(len(stack), len(needed)), mode, more or needed)


def _reads(modes: Modes, mode: int, rest: bytes, behind: bytes) -> bool:
    """Whether the text behind a gap that ends in `mode` ends all its strings: those of one line within the line."""
    for byte in rest.rstrip(b"\r\n"):
        mode = modes.after[mode][byte]
    if modes.quote[mode]:
        return False
    return not modes.open[modes.behind(behind[len(rest.rstrip(b"\r\n")) :], mode)]
