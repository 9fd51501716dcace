"""What a user does in one document, one action a key."""

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dlsp.syntax import languages


@dataclass(frozen=True)
class Write:
    """Type this text at the cursor."""

    text: str


@dataclass(frozen=True)
class Delete:
    """Delete so many characters before the cursor, by one key."""

    count: int


@dataclass(frozen=True)
class Move:
    """Go to this offset of the document as it is by then."""

    to: int


Step = Write | Delete | Move


@dataclass(frozen=True)
class Script:
    """`text` is the document at first, `path` its place in the workspace `folder`, "" where it has none.

    `group` is what results are not independent within.
    """

    id: str
    kind: str  # writing, editing
    group: str
    folder: str
    path: str
    text: str
    steps: tuple[Step, ...]

    @property
    def language(self) -> str:
        """ "" where the file's name does not tell."""
        language = languages.of(Path(self.path))
        return language.name if language else ""

    @property
    def characters(self) -> int:
        """How many the user wants written, the indentation that an editor sets by itself left out."""
        return sum(len(re.sub(r"\n[ \t]*", "\n", step.text)) for step in self.steps if isinstance(step, Write))


def keys(text: str) -> Iterator[str]:
    """What each key puts in: a character, or a line break with the indentation that an editor sets after it."""
    yield from re.findall(r"\n[ \t]*(?=[^\s])|.|\n", text)


def ordered(scripts: Iterable[Script], seed: str) -> list[Script]:
    """By chance, the same each time, those of a workspace together: the first of them are a sample of all."""
    return sorted(scripts, key=lambda script: (random.Random(seed + (script.folder or script.id)).random(), script.id))


def common(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (mine, theirs) in enumerate(pairs) if mine != theirs), min(len(one), len(other)))
