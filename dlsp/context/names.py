"""Names used around the gap: the keys for looking up context in other files."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from dlsp.context.structure import Structure

# Characters before and after the cursor that count as its surroundings.
CHARACTERS_BEFORE, CHARACTERS_AFTER = 2500, 500
MAX_NAMES = 60
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_USE = re.compile(r"\b(\w++)\s*+(?:\.|::|->)\s*(\w*)")
_OWNER = re.compile(r"\b(\w++)\s*+(?:\.|::|->)\s*\w*\Z")
_WORDS = """
as by const crate export extends from global import include let local mod module namespace package pub public require
require_relative self source static std super this type typeof use using var
"""
# Keywords in import statements and self-references, which name nothing in another file.
_NO_NAMES = frozenset(_WORDS.split())
_REQUIRE = re.compile(r"^.*\b(?:require|require_relative|source|import)\b.*$", re.MULTILINE)


@dataclass(frozen=True)
class Names:
    """Names in the text around the cursor and in the file's imports."""

    before: str
    after: str
    place: Structure | None

    @cached_property
    def imports(self) -> list[frozenset[str]]:
        """For each import, its words: modules, files, names."""
        texts = [self.place.text(node) for node in self.place.imports] if self.place else []
        texts = texts or _REQUIRE.findall(self.before[:10_000])
        return [frozenset(re.findall(r"\w+", text)) - _NO_NAMES for text in texts]

    @cached_property
    def imported(self) -> frozenset[str]:
        """All words of the imports."""
        return frozenset[str]().union(*self.imports)

    def brings(self, name: str, module: Sequence[str]) -> bool:
        """Whether a single import contains both the name and a part of `module`, whose parts are in lower case."""
        return any(name in words and not {word.lower() for word in words}.isdisjoint(module) for words in self.imports)

    @cached_property
    def modules(self) -> frozenset[str]:
        """The words of the imports in lower case, for comparison with file names."""
        return frozenset(word.lower() for word in self.imported)

    @cached_property
    def near(self) -> dict[str, float]:
        """Names around the cursor with their weights: 3 on the cursor's line, 2 within ten lines, else 1."""
        weights: dict[str, float] = {}
        lines = self.before[-CHARACTERS_BEFORE:].split("\n")
        for distance, line in enumerate(reversed(lines)):
            weight = 3.0 if distance == 0 else 2.0 if distance <= 10 else 1.0
            for name in _NAME.findall(line):
                weights.setdefault(name, weight)
        for distance, line in enumerate(self.after[:CHARACTERS_AFTER].split("\n")):
            for name in _NAME.findall(line):
                weights.setdefault(name, 2.0 if distance <= 3 else 1.0)
        return weights

    @cached_property
    def uses(self) -> dict[str, set[str]]:
        """For each word before a dot (in lower case), the names used after it."""
        found: dict[str, set[str]] = {}
        for owner, name in _USE.findall(self.before[-CHARACTERS_BEFORE:] + "\0" + self.after[:CHARACTERS_AFTER]):
            found.setdefault(owner.lower(), set()).add(name)
        return found

    @cached_property
    def owner(self) -> str:
        """The word before the dot at the cursor, whose members are wanted; "" if the cursor is not after a dot."""
        found = _OWNER.search(self.before[-200:])
        return found[1] if found else ""

    @cached_property
    def wanted(self) -> dict[str, float]:
        """Names to look up and their weights, heaviest first: those near the cursor and imported ones.

        Names that the file itself defines are left out.
        """
        definitions = self.place.definitions if self.place else ()
        own = {each.name for each in definitions if each.parent is None} | _NO_NAMES
        weights = {name: 0.5 for name in self.imported if len(name) > 2} | self.near
        named = sorted((item for item in weights.items() if item[0] not in own), key=lambda item: (-item[1], item[0]))
        return dict(named[:MAX_NAMES])
