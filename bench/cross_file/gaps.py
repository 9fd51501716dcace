"""Gaps whose filling depends on another file: made from packages that are installed beside this one.

A gap is the rest of a line, either after `NAME(`, where NAME is a function or a class that the file imports from
another file of its package, or after `THING.`, where THING is a module or class imported so and the name after the
dot is defined in another file. No other line of the file has the name so, or the file itself would tell.
"""

import importlib.util
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dlsp.context.names import Names
from dlsp.context.structure import structure
from dlsp.ignore import Rules, walk
from dlsp.index.store import Store, stem
from dlsp.syntax import languages
from dlsp.syntax.brackets import unclosed
from dlsp.syntax.source import Source

PACKAGES = (
    *(
        "anyio",
        "cattrs",
        "fsspec",
        "httpx",
        "huggingface_hub",
        "hypothesis",
        "markdown_it",
        "pathspec",
        "prometheus_client",
    ),
    *("pydantic", "pygls", "rich", "starlette", "typer", "uvicorn", "watchfiles"),
)
MOST_OF_A_PACKAGE = 12
# Characters of a filling.
SHORTEST, LONGEST = 4, 60


@dataclass(frozen=True)
class CrossGap:
    """`right` is what stood between `before` and `after`; `name` is defined in the file `other` of the package."""

    package: str
    path: str
    line: int
    kind: str  # call, member
    name: str
    other: str
    before: str
    right: str
    after: str


def copied(package: str, folder: Path) -> Path | None:
    """A workspace with the sources of an installed package alone; None where it is not installed."""
    found = importlib.util.find_spec(package)
    if not found or not found.submodule_search_locations:
        return None
    source = Path(next(iter(found.submodule_search_locations)))

    def unwanted(_: str, names: list[str]) -> set[str]:
        return {
            name for name in names if name in ("tests", "models", "__pycache__") or ("." in name and name[-3:] != ".py")
        }

    shutil.copytree(source, folder / package / package, ignore=unwanted)
    return folder / package


def gaps(root: Path, index: Store) -> Iterator[CrossGap]:
    """All gaps of a workspace whose index is complete."""
    for file, _ in walk(Rules(root)):
        text = file.read_text(encoding="utf-8", errors="replace")
        language = languages.of(file)
        if language and "\r" not in text:
            yield from _File(root.name, file.relative_to(root).as_posix(), text, index, language).gaps()


def chosen(found: list[CrossGap], most: int, seed: int = 0) -> list[CrossGap]:
    """A sample, calls and members in turn, and not too many of one package."""
    shuffled = random.Random(seed).sample(found, len(found))
    packages: Counter[str] = Counter()
    taken: dict[str, list[CrossGap]] = {"member": [], "call": []}
    for gap in shuffled:
        if packages[gap.package] < MOST_OF_A_PACKAGE and len(taken[gap.kind]) < (most + 1) // 2:
            taken[gap.kind].append(gap)
            packages[gap.package] += 1
    return [gap for pair in zip(*taken.values(), strict=False) for gap in pair][:most]


class _File:
    def __init__(self, package: str, path: str, text: str, index: Store, language: languages.Language) -> None:
        self.package, self.path, self.text, self.index = package, path, text, index
        self.imported = Names(text, "", structure(Source(language), text, "")).imported
        names = {name: self._elsewhere(name, in_class=False) for name in sorted(self.imported)}
        self.known = {name: other for name, other in names.items() if other}
        self.calls = Counter(re.findall(r"\b(\w+)\(", text))
        self.words = Counter(re.findall(r"\w+", text))

    def gaps(self) -> Iterator[CrossGap]:
        for match in re.finditer(r"^(?!\s*(?:#|def |class |import |from ))( {4,}.*)$", self.text, re.MULTILINE):
            for kind, name, other, column in self._places(match[1]):
                at = match.start() + column
                right = self.text[at : match.end()].rstrip()
                if SHORTEST <= len(right) <= LONGEST and _is_whole(match[1], right):
                    before, after = self.text[:at], self.text[match.end() :]
                    line = before.count("\n") + 1
                    yield CrossGap(self.package, self.path, line, kind, name, other, before, right, after)

    def _places(self, line: str) -> Iterator[tuple[str, str, str, int]]:
        """Kind, name, the file it is defined in, and the column of the gap."""
        for use in re.finditer(r"\b(\w+)\(", line):
            name = use[1]
            if name in self.known and self.calls[name] == 1:
                yield "call", name, self.known[name], use.end()
        for use in re.finditer(r"\b(\w+)\.(\w{4,})\b", line):
            owner, name = use.groups()
            if owner in self.imported and self.words[name] == 1:
                other = self._elsewhere(name, in_class=True)
                if other and (owner in self.known or owner.lower() == stem(other)):
                    yield "member", name, other, use.start(2)

    def _elsewhere(self, name: str, in_class: bool) -> str:
        """The one other file that defines the name, "" if there is none or several."""
        found = [each for each in self.index.named(name, "python", 50) if in_class or not each.symbol.parent]
        paths = {each.path for each in found if each.symbol.kind != "constant"}
        return paths.pop() if len(paths) == 1 and self.path not in paths else ""


def _is_whole(line: str, right: str) -> bool:
    """Whether the filling ends where the line's code does, and is no prose."""
    return not unclosed(line) and "#" not in right and '"' not in line[: -len(right)]
