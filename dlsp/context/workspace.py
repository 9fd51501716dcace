"""A workspace as the source of context: its ignore rules, its index and its open documents."""

import os
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from dlsp.context import elsewhere
from dlsp.context.build import LEFT_OUT, build
from dlsp.context.parts import Context
from dlsp.context.recent import Recent
from dlsp.context.server_answers import ServerAnswers
from dlsp.context.tokens import DEFAULT_TOKENS
from dlsp.ignore import Rules, Verdicts, walk
from dlsp.index.keep import bring_up_to_date
from dlsp.index.process import Keeper, is_workspace
from dlsp.index.store import Store, place
from dlsp.syntax import languages
from dlsp.syntax.languages import Language
from dlsp.syntax.source import Source

_ROOT_MARKERS = (
    ".git",
    "pyproject.toml",
    "package.json",
    "go.mod",
    "Cargo.toml",
    "pom.xml",
    "CMakeLists.txt",
    "Gemfile",
)
# Documents whose syntax trees are kept.
MAX_SOURCES = 16
# Folders outside of a workspace whose ignore rules are kept.
MAX_LONE_FOLDERS = 16


class Workspace:
    """The folder `root`, or None for a single file; then no other file is read.

    `patience_s`: seconds to wait for ignore rules, None for no limit (see `Verdicts`). `without` are sources of context
    that are not used, of `build.SOURCES`; measurements change them.
    """

    without: Collection[str] = LEFT_OUT

    def __init__(
        self,
        root: Path | None,
        globs: tuple[str, ...] = (),
        budget: int = DEFAULT_TOKENS,
        patience_s: float | None = None,
    ) -> None:
        self.root = Path(os.path.abspath(root)) if root else None
        self.recent, self.server_answers = Recent(), ServerAnswers()
        self._globs, self._budget, self._patience_s = globs, budget, patience_s
        self._verdicts: OrderedDict[Path, Verdicts] = OrderedDict()
        self._sources: OrderedDict[tuple[str, str], Source] = OrderedDict()
        self._index: Store | None = None
        self._made: int | None = None
        self._keeper: Keeper | None = None

    def has(self, globs: tuple[str, ...], budget: int) -> bool:
        """Whether it was made with these settings."""
        return (globs, budget) == (self._globs, self._budget)

    def keep_index(self) -> None:
        """Start, at the first call, to read the ignore rules and to build and update the index in the background."""
        if self.root and self.root not in self._verdicts:
            self._rules(self.root).begin()
        if self._keeper is None and self.root and is_workspace(self.root):
            self._keeper = Keeper(self.root, self._globs)

    def bring_up_to_date(self, seconds: float) -> None:
        """Update the index now, for at most `seconds`, unless a background process does so already."""
        if self.root and is_workspace(self.root):
            bring_up_to_date(self.root, self._globs, seconds)

    def close(self) -> None:
        """Stop indexing and close the index and the threads of the ignore rules."""
        if self._keeper:
            self._keeper.stop()
        if self._index:
            self._index.close()
        for verdicts in self._verdicts.values():
            verdicts.close()

    def name(self, path: Path) -> str:
        """The path relative to the workspace, with `/`; the file name alone if it is outside."""
        inside = self.root and path.is_relative_to(self.root)
        return path.relative_to(self.root).as_posix() if inside and self.root else path.name

    def excludes(self, path: Path) -> str:
        """The reason why the file must not be read, "" if it may be."""
        return self._rules(path).excludes(path)

    def source(self, path: Path, language: Language | None = None) -> Source | None:
        """The document's syntax tree, to be updated with its text; None for plain text.

        `language` is the editor's; by default it is derived from the file name.
        """
        language = language or languages.of(path)
        if language is None:
            return None
        key = str(path), language.name
        if key not in self._sources:
            self._sources[key] = Source(language)
        self._sources.move_to_end(key)
        while len(self._sources) > MAX_SOURCES:
            self._sources.popitem(last=False)
        return self._sources[key]

    def forget(self, path: Path) -> None:
        """The document was closed: drop its trees."""
        for key in [key for key in self._sources if key[0] == str(path)]:
            del self._sources[key]

    def files(self, near: str, going: Callable[[], bool]) -> Iterator[Path]:
        """Yield the source files that may be read, those nearest to the file `near` first, while `going()` is true. A
        single file has none."""
        if self.root is None or not is_workspace(self.root):
            return
        rules, seen = Rules(self.root, self._globs), None
        # A symbolic link is followed to its target, whose folders are searched.
        real, top = Path(os.path.realpath(self.root / near)), Path(os.path.realpath(self.root))
        for folder in (self.root / (real.relative_to(top) if real.is_relative_to(top) else near)).parents:
            yield from (path for path, _ in walk(rules, folder, without=seen, going=going))
            if folder == self.root or not going():
                return
            seen = folder

    def context(
        self,
        path: Path,
        before: str,
        after: str,
        previous: Context | None = None,
        language: Language | None = None,
    ) -> Context:
        """The context of a gap in the document at `path`, which the caller has checked may be read.

        `language` is the editor's; by default it is derived from the file name. Other files are taken from `previous`,
        the document's last context, as long as they still cover what is wanted.
        """
        return build(
            self.name(path),
            before,
            after,
            source=self.source(path, language),
            index=self._reader(),
            rules=self._rules(path) if self.root else None,
            recent=self.recent,
            previous=previous,
            budget=self._budget,
            without=self.without,
        )

    def comments(self, path: Path, before: str, after: str, language: Language | None) -> list[str]:
        """What other language servers told about a place in the document at `path`, as comments without indentation."""
        return self.server_answers.comments(self.name(path), before, after, language, self.without) if language else []

    def defined(self, language: Language | None, most: int) -> tuple[str, ...]:
        """At most so many names that the workspace's files of this language define, the latest changed files first."""
        index = self._reader()
        if not (self.root and index and language):
            return ()
        return elsewhere.defined(index, self._rules(self.root / "any"), language.family, most)

    def _rules(self, path: Path) -> Verdicts:
        """The rules for `path`, marked for a check whether their files have changed."""
        folder = self.root or path.parent
        if folder not in self._verdicts:
            self._verdicts[folder] = Verdicts(folder, self._globs, self._patience_s)
        self._verdicts.move_to_end(folder)
        while len(self._verdicts) > MAX_LONE_FOLDERS:
            self._verdicts.popitem(last=False)[1].close()
        self._verdicts[folder].doubt()
        return self._verdicts[folder]

    def _reader(self) -> Store | None:
        """The index, opened again if its file was replaced or could not be opened before."""
        if self.root is None:
            return None
        file = place(self.root)
        made = file.stat().st_ino if file.exists() else None
        if made != self._made or (made and self._index is None):
            if self._index:
                self._index.close()
            self._index, self._made = Store.read(file), made
        return self._index


def around(file: Path, globs: tuple[str, ...] = (), budget: int = DEFAULT_TOKENS) -> Workspace:
    """The workspace of a file outside an editor: the nearest parent folder that looks like a project."""
    file = Path(os.path.abspath(file))
    marked = (folder for folder in file.parents if any((folder / mark).exists() for mark in _ROOT_MARKERS))
    return Workspace(next(marked, None), globs, budget)
