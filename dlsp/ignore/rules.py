"""The rules of one workspace. All of them add up: nothing that one excludes is let in by another.

What reads them takes a bounded time, whatever the folder holds (see `reading` and `patterns`). Rules that are too many
or too long to be read exclude everything that they are about, as nobody knows what they would let in.
"""

import os
from pathlib import Path

from dlsp.ignore import git
from dlsp.ignore.patterns import Patterns
from dlsp.ignore.reading import MOST_RULE_BYTES, TooLarge, read, resolved
from dlsp.ignore.secrets import is_secret

FILES = (".gitignore", ".dlspignore")
ALWAYS = {".git", ".hg", ".svn", "node_modules", "__pycache__"}
# Larger files are data, or made by a program; none is a source of context.
MOST_BYTES = 512 * 1024
# Folders in each other, below the repository: what lies deeper was made by a program.
MOST_FOLDERS = 100

Stamp = tuple[int, int, int] | None


class Rules:
    """What may be read below `root`, for the file being edited and for every source of context.

    Files that hold rules are read once, when a path that they are about is asked for. All of this reads files, so it is
    not for an event loop (see `asked`).
    """

    def __init__(self, root: Path, globs: tuple[str, ...] = ()) -> None:
        self.root = Path(os.path.abspath(root))
        self._real = Path(os.path.realpath(root))
        self._stamps: dict[Path, Stamp] = {}
        self._top = _repository(self._real)
        self._globs = Patterns(globs)
        self._personal = [self._patterns(file, inside) for file, inside in git.exclude_files(self._top)]
        self._above: dict[Path, list[tuple[Path, Patterns]]] = {}
        self._folders: dict[Path, str] = {}

    def hold(self) -> bool:
        """Whether the files that the rules come from are as they were when they were read."""
        known = all(_stamp(file) == stamp for file, stamp in self._stamps.items())
        return known and _repository(self._real) == self._top

    def excludes(self, path: Path) -> str:
        """Why the text of `path` is not to be read, "" if it may be; looks at names, not into the file."""
        path = Path(os.path.abspath(path))
        try:
            real = resolved(path)
        except OSError:
            return "it is a link that leads nowhere"
        if is_secret(path, self.root) or is_secret(real, self._real):
            return "its name says that it holds secrets"
        if path.is_relative_to(self.root) and not real.is_relative_to(self._real):
            return "it is a link out of the workspace"
        inner = self._inner(path)
        return self._excluded(inner) or (self._excluded(real) if real != inner else "")

    def excludes_source(self, path: Path) -> str:
        """Why `path` is no source of context, "" if it is one: `excludes`, and only files of a bearable size."""
        if not path.is_absolute() or not path.is_relative_to(self.root):
            return "it is outside the workspace"
        try:
            if path.stat().st_size > MOST_BYTES:
                return "it is huge"
        except OSError:
            return "it cannot be read"
        return self.excludes(path)

    def excludes_folder(self, path: Path) -> str:
        """Why nothing below the folder `path` is read, "" if something may be."""
        return self._excludes_folder(self._inner(path))

    def _inner(self, path: Path) -> Path:
        """As the repository names it: the workspace may be a link into one. So are all paths from here on."""
        if self.root == self._real or not path.is_relative_to(self.root):
            return path
        return self._real / path.relative_to(self.root)

    def _excludes_folder(self, path: Path) -> str:
        known = self._folders.get(path)
        if known is None:
            if path == self._top or path == self._real or not path.is_relative_to(self._top):
                known = ""
            elif path.name in ALWAYS:
                known = f"nothing in {path.name} is"
            else:
                known = self._excludes_folder(path.parent) or self._matched(path, folder=True)
            self._folders[path] = known
        return known

    def _excluded(self, path: Path) -> str:
        return self._excludes_folder(path.parent) or self._matched(path, folder=False)

    def _matched(self, path: Path, *, folder: bool) -> str:
        def below(around: Path) -> str:
            return path.relative_to(around).as_posix()

        if path.is_relative_to(self._real):
            if self._globs.beyond:
                return "there are more ignore settings than are read"
            if self._globs.verdict(below(self._real), folder=folder):
                return "a setting excludes it"
        if not path.is_relative_to(self._top):
            return ""
        if below(self._top).count("/") > MOST_FOLDERS:
            return "it lies too deep"
        let_in: set[str] = set()
        for file, patterns in self._over(path.parent):
            if patterns.beyond:
                return f"{file.name} has more or longer patterns than are read"
            if file.name not in let_in and (verdict := patterns.verdict(below(file.parent), folder=folder)) is not None:
                if verdict:
                    return f"{file.name} excludes it"
                let_in.add(file.name)
        for patterns in self._personal:
            if patterns.beyond:
                return "git's own exclude file has more or longer patterns than are read"
            if (verdict := patterns.verdict(below(self._top), folder=folder)) is not None:
                return "git's own exclude file excludes it" if verdict else ""
        return ""

    def _over(self, folder: Path) -> list[tuple[Path, Patterns]]:
        """The files whose patterns count in a folder, the nearest first."""
        if folder not in self._above:
            here = [(folder / name, self._patterns(folder / name, self._top)) for name in FILES]
            above = [] if folder == self._top else self._over(folder.parent)
            self._above[folder] = [each for each in here if each[1]] + above
        return self._above[folder]

    def _patterns(self, file: Path, inside: Path | None) -> Patterns:
        """Those of a file; none where there is no file that may be read."""
        self._stamps[file] = _stamp(file)
        try:
            return Patterns.read(read(file, MOST_RULE_BYTES, inside))
        except TooLarge:
            return Patterns([], beyond=True)
        except (OSError, ValueError):
            return Patterns([])


def _stamp(file: Path) -> Stamp:
    try:
        state = file.stat()
    except (OSError, ValueError):
        return None
    return state.st_mtime_ns, state.st_size, state.st_ino


def _repository(root: Path) -> Path:
    """The folder whose `.gitignore` counts first: the repository's, or `root` outside of one."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
