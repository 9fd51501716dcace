"""The ignore rules of one workspace. All sources add up: none re-includes what another one excludes.

Reading them takes bounded time, whatever the folder contains (see `reading` and `patterns`). Rules that are too many or
too long exclude everything in their scope, because it is unknown what they would allow.
"""

import os
from pathlib import Path

from dlsp.ignore import git
from dlsp.ignore.patterns import Patterns
from dlsp.ignore.reading import MAX_RULE_BYTES, TooLarge, read, resolved
from dlsp.ignore.secrets import is_secret

PATTERN_FILES = (".gitignore", ".dlspignore")
ALWAYS_IGNORED = {".git", ".hg", ".svn", "node_modules", "__pycache__"}
# Larger files are data or generated; they are not used as context.
MAX_FILE_BYTES = 512 * 1024
# The deepest nesting of folders below the repository; deeper ones are generated.
MAX_DEPTH = 100

Stamp = tuple[int, int, int] | None


class Rules:
    """Decides what may be read below `root`: the edited file and every source of context.

    Rule files are read once, when a path in their scope is first checked. All methods read files, so do not call them
    on an event loop (see `Verdicts`).
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
        """Whether the rule files are unchanged since they were read."""
        known = all(_stamp(file) == stamp for file, stamp in self._stamps.items())
        return known and _repository(self._real) == self._top

    def excludes(self, path: Path) -> str:
        """The reason why `path` must not be read, "" if it may be. Checks names and links, not the file's content."""
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
        """The reason why `path` is not used as context, "" if it is: `excludes`, and a size limit."""
        if not path.is_absolute() or not path.is_relative_to(self.root):
            return "it is outside the workspace"
        try:
            if path.stat().st_size > MAX_FILE_BYTES:
                return "it is huge"
        except OSError:
            return "it cannot be read"
        return self.excludes(path)

    def excludes_folder(self, path: Path) -> str:
        """The reason why nothing below the folder `path` is read, "" if something may be."""
        return self._excludes_folder(self._inner(path))

    def _inner(self, path: Path) -> Path:
        """The path inside the real repository; the workspace itself may be a link. All methods below take such
        paths."""
        if self.root == self._real or not path.is_relative_to(self.root):
            return path
        return self._real / path.relative_to(self.root)

    def _excludes_folder(self, path: Path) -> str:
        known = self._folders.get(path)
        if known is None:
            if path == self._top or path == self._real or not path.is_relative_to(self._top):
                known = ""
            elif path.name in ALWAYS_IGNORED:
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
        if below(self._top).count("/") > MAX_DEPTH:
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
        """The rule files that apply in a folder, nearest first."""
        if folder not in self._above:
            here = [(folder / name, self._patterns(folder / name, self._top)) for name in PATTERN_FILES]
            above = [] if folder == self._top else self._over(folder.parent)
            self._above[folder] = [each for each in here if each[1]] + above
        return self._above[folder]

    def _patterns(self, file: Path, inside: Path | None) -> Patterns:
        """The patterns of a file; none if there is no readable file."""
        self._stamps[file] = _stamp(file)
        try:
            return Patterns.read(read(file, MAX_RULE_BYTES, inside))
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
    """The top folder of the rules: the repository's, or `root` outside of a repository."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
