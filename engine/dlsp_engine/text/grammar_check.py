"""The program that tries whether a constraint compiles: `python -m dlsp_engine.text.grammar_check KIND < SOURCE`.

It writes what is wrong and where, or nothing. It may be killed by the limit that it sets itself, or by a stack that
overflows: then the constraint is too complex.
"""

import json
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from llguidance import LLMatcher, LLTokenizer

MAX_CPU_S = 0.5
STACK_BYTES = 4 << 20  # less than the engine's threads have
MAX_TRIED = 300  # parts of a schema in the search for the one that is wrong

# How the library shows a regular expression, and what `grammars` writes for what cannot stand between slashes.
INDENTED_CHARACTERS = 4
ESCAPES, ESCAPE_CHARACTERS = (r"\x2F", r"\x0A", r"\x0D"), 4

# Where a schema holds schemas: fields with one, with a list, and with one for each name.
ONE = ("items", "additionalProperties", "additionalItems", "not", "if", "then", "else", "contains", "propertyNames")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
NAMED = ("properties", "patternProperties", "$defs", "definitions")


class Vocabulary:
    """A tokenizer as the library wants it. `words` are the bytes of each id, empty for special tokens, which get no
    names that a grammar could spell.
    """

    is_tokenizer_wrapper = True
    bos_token_id = None

    def __init__(self, words: Sequence[bytes], end: int, encode: Callable[[str], list[int]]) -> None:
        self.tokens = [word or b"\xff[%d]" % token for token, word in enumerate(words)]
        self.special_token_ids = [token for token, word in enumerate(words) if not word]
        self.eos_token_id = end
        self._encode = encode

    def __call__(self, text: str) -> list[int]:
        return self._encode(text)


def error(source: dict[str, Any]) -> str:
    """Return the library's message, empty if the source compiles and accepts some text."""
    bytes_alone = Vocabulary([bytes([byte]) for byte in range(256)] + [b""], 256, lambda text: list(text.encode()))
    tokenizer = LLTokenizer(bytes_alone, slices=[])  # type: ignore[arg-type]
    matcher = LLMatcher(tokenizer, json.dumps({"grammars": [source]}), log_level=0)
    if not matcher.is_error():
        matcher.compute_bitmask()
    message = matcher.get_error()
    return "it accepts no text" if message.startswith("NoExtensionBias") else message


def wrong(kind: str, source: dict[str, Any]) -> str:
    """Return what is wrong and where, as the end of a sentence; empty if nothing is."""
    message = error(source)
    if not message:
        return ""
    if kind == "json_schema":
        return f" at {'/'.join(['#', *place(source['json_schema'], message)])}: {_first(message)}."
    inner = re.search(r"regex parse error:\n(.*?)\nerror: ([^\n]*)", message, re.DOTALL)
    if kind == "regex":
        if not inner:
            return f": {_first(message.split(': ', 1)[-1])}."
        return f" at character {_caret(inner[1])}: {inner[2]}."
    at = re.match(r"(?:at )?(\d+)\((\d+)\): ([^\n]*)", message)
    what = inner[2] if inner else at[3] if at else _first(message)
    return f" at line {at[1]}, column {at[2]}: {what.rstrip('.')}." if at else f": {what.rstrip('.')}."


def place(schema: Any, message: str, tried: list[int] | None = None, root: Any = None) -> list[str]:
    """Return the way to the innermost part of a schema that has the same error alone."""
    tried, root = tried or [0], schema if root is None else root
    for way, part in parts(schema):
        tried[0] += 1
        if tried[0] > MAX_TRIED:
            return []
        alone = part
        if isinstance(part, dict) and isinstance(root, dict):
            alone = {name: root[name] for name in ("$defs", "definitions") if name in root} | part
        if error({"json_schema": alone}) == message:
            return [*way, *place(part, message, tried, root)]
    return []


def parts(schema: Any) -> Iterator[tuple[list[str], Any]]:
    """Yield the schemas right inside a schema, each with the way to it."""
    if not isinstance(schema, dict):
        return
    for name in ONE:
        if isinstance(schema.get(name), dict | bool):
            yield [name], schema[name]
    for name in LISTS:
        if isinstance(schema.get(name), list):
            yield from (([name, str(at)], part) for at, part in enumerate(schema[name]))
    for name in NAMED:
        if isinstance(schema.get(name), dict):
            yield from (([name, key.replace("~", "~0").replace("/", "~1")], part) for key, part in schema[name].items())


def _caret(shown: str) -> int:
    """Return the number of the character, from 1, under which the first caret stands. Escapes count as one."""
    regex, *below = (line[INDENTED_CHARACTERS:] for line in shown.split("\n"))
    marks = next((line for line in below if set(line) <= set(" ^") and "^" in line), "^")
    escapes = sum(map(regex[: marks.index("^")].count, ESCAPES))
    return 1 + marks.index("^") - (ESCAPE_CHARACTERS - 1) * escapes


def _first(message: str) -> str:
    return (message.splitlines() or [""])[0].rstrip(".")


def main() -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_VIRTUAL, MAX_CPU_S)  # its signal ends the process
    source, found = json.load(sys.stdin), []
    threading.stack_size(STACK_BYTES)
    thread = threading.Thread(target=lambda: found.append(wrong(sys.argv[1], source)))
    thread.start()
    thread.join()
    sys.stdout.write(found[0])


if __name__ == "__main__":
    main()
