"""A workspace as the source of context: its rules, its index, its open documents."""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path

from dlsp.context.budget import TOKENS
from dlsp.context.build import build
from dlsp.context.parts import Context
from dlsp.context.recent import Recent
from dlsp.ignore import Rules, Verdicts, walk
from dlsp.index.keep import bring_up_to_date
from dlsp.index.process import Keeper, is_workspace
from dlsp.index.store import Store, place
from dlsp.syntax import languages
from dlsp.syntax.languages import Language
from dlsp.syntax.source import Source

_MARKS = (".git", "pyproject.toml", "package.json", "go.mod", "Cargo.toml", "pom.xml", "CMakeLists.txt", "Gemfile")
# Documents whose trees are kept.
MOST_SOURCES = 16
# Folders of files outside of a workspace whose rules are kept.
MOST_LONE_FOLDERS = 16


class Workspace:
    """The folder `root`, or a single file's surroundings where there is none: then nothing but the file is read.

    `patience_s`: seconds to wait for ignore rules, None for as long as it takes (see `Verdicts`).
    """

    def __init__(
        self,
        root: Path | None,
        globs: tuple[str, ...] = (),
        budget: int = TOKENS,
        patience_s: float | None = None,
    ) -> None:
        self.root = Path(os.path.abspath(root)) if root else None
        self.recent = Recent()
        self._globs, self._budget, self._patience_s = globs, budget, patience_s
        self._verdicts: OrderedDict[Path, Verdicts] = OrderedDict()
        self._sources: OrderedDict[tuple[str, str], Source] = OrderedDict()
        self._index: Store | None = None
        self._made: int | None = None
        self._keeper: Keeper | None = None

    def has(self, globs: tuple[str, ...], budget: int) -> bool:
        """Whether these are its settings."""
        return (globs, budget) == (self._globs, self._budget)

    def keep_index(self) -> None:
        """Have the ignore rules read, and the index made and kept true, in the background, from the first call on."""
        if self.root and self.root not in self._verdicts:
            self._rules(self.root).begin()
        if self._keeper is None and self.root and is_workspace(self.root):
            self._keeper = Keeper(self.root, self._globs)

    def bring_up_to_date(self, seconds: float) -> None:
        """Make the index true now, as far as that goes in so long, unless a process keeps it already."""
        if self.root and is_workspace(self.root):
            bring_up_to_date(self.root, self._globs, seconds)

    def close(self) -> None:
        if self._keeper:
            self._keeper.stop()
        if self._index:
            self._index.close()
        for verdicts in self._verdicts.values():
            verdicts.close()

    def name(self, path: Path) -> str:
        """The path as the workspace sees it, with `/`."""
        inside = self.root and path.is_relative_to(self.root)
        return path.relative_to(self.root).as_posix() if inside and self.root else path.name

    def excludes(self, path: Path) -> str:
        """Why nothing may be read of the file, "" if it may be."""
        return self._rules(path).excludes(path)

    def source(self, path: Path, language: Language | None = None) -> Source | None:
        """The document's tree, to be updated with its text; None for plain text. `language` is what its editor says,
        by default what its name says."""
        language = language or languages.of(path)
        if language is None:
            return None
        key = str(path), language.name
        if key not in self._sources:
            self._sources[key] = Source(language)
        self._sources.move_to_end(key)
        while len(self._sources) > MOST_SOURCES:
            self._sources.popitem(last=False)
        return self._sources[key]

    def forget(self, path: Path) -> None:
        """The document was closed."""
        for key in [key for key in self._sources if key[0] == str(path)]:
            del self._sources[key]

    def edits_besides(self, path: Path) -> int:
        """How many edits there were in other documents."""
        return self.recent.edits_besides(self.name(path))

    def files(self, near: str, going: Callable[[], bool]) -> Iterator[Path]:
        """The source files that may be read, as they are found, those nearest to the file that is named `near` first,
        as long as `going` says True; none where there is no workspace."""
        if self.root is None or not is_workspace(self.root):
            return
        rules, seen = Rules(self.root, self._globs), None
        # A link is walked where it leads.
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
        """The context of a gap in the document at `path`, which is one that may be read.

        `language` is what its editor says, by default what its name says.

        Other files are those of `previous`, the document's context before, where they still serve.
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
        )

    def _rules(self, path: Path) -> Verdicts:
        """Those of the workspace, looked at again as their files may have changed."""
        folder = self.root or path.parent
        if folder not in self._verdicts:
            self._verdicts[folder] = Verdicts(folder, self._globs, self._patience_s)
        self._verdicts.move_to_end(folder)
        while len(self._verdicts) > MOST_LONE_FOLDERS:
            self._verdicts.popitem(last=False)[1].close()
        self._verdicts[folder].doubt()
        return self._verdicts[folder]

    def _reader(self) -> Store | None:
        """The index, opened again after it was made anew, and as long as it cannot be read yet."""
        if self.root is None:
            return None
        file = place(self.root)
        made = file.stat().st_ino if file.exists() else None
        if made != self._made or (made and self._index is None):
            if self._index:
                self._index.close()
            self._index, self._made = Store.read(file), made
        return self._index


def around(file: Path, globs: tuple[str, ...] = (), budget: int = TOKENS) -> Workspace:
    """The workspace that a file lies in when no editor says: the nearest folder that looks like a project."""
    file = Path(os.path.abspath(file))
    marked = (folder for folder in file.parents if any((folder / mark).exists() for mark in _MARKS))
    return Workspace(next(marked, None), globs, budget)
