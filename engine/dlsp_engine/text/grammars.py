"""Turns the constraints that clients write into grammars: checks them in a process of their own, compiles and keeps
them.
"""

import json
import re
import signal
import subprocess
import sys
import threading
from collections import OrderedDict
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dlsp_engine.errors import EngineError
from dlsp_engine.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from dlsp_engine.decode.constraint import Requirement
    from dlsp_engine.decode.name_places import Places

CODE_KINDS = ("identifiers", "balanced")  # these need no compiling
KINDS = ("regex", "grammar", "json_schema", "choices", *CODE_KINDS)
MAX_CHARACTERS = 100_000  # of a constraint
MAX_CHOICES = 1000
MAX_IDENTIFIERS = 5000
MAX_KEPT = 32  # compiled constraints
# By the clock, for a check on a busy machine, which ends itself after `grammar_check.MAX_CPU_S`. Windows cannot.
MAX_CHECK_S = 30.0 if hasattr(signal, "setitimer") else 3.0
IDENTIFIER = re.compile(r"[\w$]{1,200}")

# White space in JSON, as most writers of it set it: where any is allowed, a small model may write it without end, and
# little can be drafted without the model.
JSON_SPACES = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}

TOO_COMPLEX = "'{}' in 'constraint' is too complex: it takes more than {} s to compile. Make it simpler."


class Grammars:
    """Compiles constraints for one tokenizer, and keeps those that were used last. Threads may share it: grammars
    compile one after the other, and nobody else waits for them.

    A constraint is first compiled in a process of its own, within `grammar_check.MAX_CPU_S`, because one that is large
    or made to do harm could take minutes, or end the process that compiles it.
    """

    def __init__(self, tokenizer: Tokenizer, vocab: int) -> None:
        """`vocab` is the number of ids that logits have."""
        self._tokenizer = tokenizer
        self._vocab = vocab
        self._library: Any = None  # the tokenizer in the library's form, made when it is first needed
        self._kept: OrderedDict[str, Requirement] = OrderedDict()
        self._lock = threading.Lock()  # of what is kept
        self._compiling = threading.Lock()

    @cached_property
    def _places(self) -> "Places":
        from dlsp_engine.decode.modes import Words
        from dlsp_engine.decode.name_places import Places

        return Places(Words(self._tokenizer))

    def __call__(self, constraint: Any) -> "Requirement":
        """Return the compiled form of `constraint`, an object whose fields are of KINDS: each is a requirement, and
        answers keep to all of them. Raises EngineError that names the place of an error.
        """
        from dlsp_engine.decode.combined import Requirements

        if not isinstance(constraint, dict) or not constraint or not constraint.keys() <= set(KINDS):
            raise EngineError(f"'constraint' must be an object with at least one of the fields {', '.join(KINDS)}.")
        parts = [self._part(kind, value) for kind, value in constraint.items()]
        return parts[0] if len(parts) == 1 else Requirements(parts, self._tokenizer)

    def _part(self, kind: str, value: Any) -> "Requirement":
        source = _source(kind, value)
        key = json.dumps([kind, source])
        if found := self._get(key):
            return found
        if kind in CODE_KINDS:
            return self._keep(key, self._on_code(kind, source))
        with self._compiling:
            return self._get(key) or self._keep(key, self._compiled(kind, source))

    def _get(self, key: str) -> "Requirement | None":
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: str, compiled: "Requirement") -> "Requirement":
        with self._lock:
            self._kept[key] = compiled
            if len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
            return compiled

    def _on_code(self, kind: str, source: Any) -> "Requirement":
        from dlsp_engine.decode.balanced import Balance
        from dlsp_engine.decode.identifiers import Identifiers

        return Balance(self._places.words) if kind == "balanced" else Identifiers(source, self._places)

    def _compiled(self, kind: str, source: Any) -> "Requirement":
        from dlsp_engine.decode.grammar import Grammar  # constraints are seldom asked for

        _check(kind, source)
        stops = self._tokenizer.stops - self._tokenizer.spelled.keys()
        if self._library is None:
            self._library = _in_library(self._tokenizer, self._vocab, stops)
        return Grammar(source, self._library, stops)


def _source(kind: str, value: Any) -> Any:
    """Return the checked value of a constraint of one kind. Grammars are as llguidance takes them: an object of its
    `grammars`.
    """
    if kind == "balanced":
        if value is not True:
            raise EngineError("'balanced' in 'constraint' must be true; leave it out otherwise.")
        return value
    try:
        characters = len(json.dumps(value, ensure_ascii=False).encode().decode())
    except (RecursionError, UnicodeEncodeError) as error:
        raise EngineError(f"'{kind}' in 'constraint' is nested too deeply, or holds half a surrogate pair.") from error
    if characters > MAX_CHARACTERS:
        raise EngineError(f"'{kind}' in 'constraint' must hold at most {MAX_CHARACTERS} characters.")
    if kind == "identifiers":
        if not isinstance(value, list) or not 1 <= len(value) <= MAX_IDENTIFIERS:
            raise EngineError(f"'identifiers' in 'constraint' must hold 1 to {MAX_IDENTIFIERS} names.")
        if wrong := [name for name in value if not isinstance(name, str) or not IDENTIFIER.fullmatch(name)]:
            raise EngineError(f"'identifiers' in 'constraint' must hold names; {ascii(wrong[0])[:80]} is none.")
        return sorted(set(value))
    if kind == "json_schema":
        if not isinstance(value, dict):
            raise EngineError("'json_schema' in 'constraint' must be an object.")
        return {"json_schema": value | {"x-guidance": JSON_SPACES}}
    if kind == "choices":
        return {"lark_grammar": f"start: {_literals(value)}"}
    if not isinstance(value, str) or not value:
        raise EngineError(f"'{kind}' in 'constraint' must be a text that is not empty.")
    return {"lark_grammar": f"start: /{_slashed(value)}/" if kind == "regex" else value}


def _literals(choices: Any) -> str:
    """Return the choices as alternatives in Lark."""
    if not isinstance(choices, list) or not 1 <= len(choices) <= MAX_CHOICES:
        raise EngineError(f"'choices' in 'constraint' must hold 1 to {MAX_CHOICES} texts.")
    for number, choice in enumerate(choices):
        if not isinstance(choice, str):
            raise EngineError(f"'choices' in 'constraint' must hold texts; number {number} is none.")
    return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)


def _slashed(regex: str) -> str:
    """Return a regular expression as it stands between slashes in Lark. A character that cannot stand there is replaced
    by its number; see `grammar_check.ESCAPES`.
    """
    escaped, after_backslash = "", False
    for char in regex:
        escaped += f"\\x{ord(char):02X}" if char in "/\n\r" and not after_backslash else char
        after_backslash = char == "\\" and not after_backslash
    return escaped


def _check(kind: str, source: dict[str, Any]) -> None:
    """Raise EngineError if the source is not valid, or cannot be compiled in time."""
    from dlsp_engine.text.grammar_check import MAX_CPU_S

    command = [sys.executable, "-m", "dlsp_engine.text.grammar_check", kind]
    try:
        done = subprocess.run(command, input=json.dumps(source), capture_output=True, text=True, timeout=MAX_CHECK_S)
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode:
        raise EngineError(TOO_COMPLEX.format(kind, MAX_CPU_S))
    if done.stdout:
        raise EngineError(f"'{kind}' in 'constraint' is not valid{done.stdout}")


def _in_library(tokenizer: Tokenizer, vocab: int, stops: frozenset[int]) -> Any:
    """Return the tokenizer in the library's form."""
    from llguidance import LLTokenizer

    from dlsp_engine.text.grammar_check import Vocabulary

    # One id more than there are, which ends answers where no token does.
    words = [tokenizer.token_bytes(token) if token < tokenizer.words else b"" for token in range(vocab + 1)]
    vocabulary = Vocabulary(words, min(stops, default=vocab), tokenizer.encode)
    return LLTokenizer(vocabulary, eos_token=sorted(stops) or [vocab])  # type: ignore[arg-type]
