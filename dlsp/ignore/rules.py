"""The rules of one workspace. All of them add up: nothing that one excludes is let in by another."""

import os
from contextlib import suppress
from pathlib import Path, PurePath

from pathspec import GitIgnoreSpec

from dlsp.ignore.secrets import is_secret

FILES = (".gitignore", ".dlspignore")
ALWAYS = {".git", ".hg", ".svn", "node_modules", "__pycache__"}
MOST_BYTES = 512 * 1024
"""Larger files are data, or made by a program; none is a source of context."""


class Rules:
    """What may be read below `root`, for the file being edited and for every source of context.

    `.gitignore` and `.dlspignore` files are read once; after one of them changed, make new rules.
    """

    def __init__(self, root: Path, globs: tuple[str, ...] = ()) -> None:
        self.root = Path(os.path.abspath(root))
        self._real = Path(os.path.realpath(root))
        self._top = _repository(self.root)
        self._globs = GitIgnoreSpec.from_lines(filter(is_pattern, globs))
        self._personal = _spec(_excludes(self._top))
        self._specs: dict[Path, dict[str, GitIgnoreSpec]] = {}
        self._folders: dict[Path, str] = {}

    def excludes(self, path: Path) -> str:
        """Why the text of `path` is not to be read, "" if it may be; looks at names, not into the file."""
        path = Path(os.path.abspath(path))
        real = Path(os.path.realpath(path))
        if is_secret(PurePath(path.name)) or is_secret(_below(path, self.root)) or is_secret(_below(real, self._real)):
            return "its name says that it holds secrets"
        if path.is_relative_to(self.root) and not real.is_relative_to(self._real):
            return "it is a link out of the workspace"
        return self._excluded(path) or (self._excluded(real) if real != path else "")

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
        known = self._folders.get(path)
        if known is None:
            if path == self._top or path == self.root or not path.is_relative_to(self._top):
                known = ""
            elif path.name in ALWAYS:
                known = f"nothing in {path.name} is"
            else:
                known = self.excludes_folder(path.parent) or self._matched(path, "/")
            self._folders[path] = known
        return known

    def _excluded(self, path: Path) -> str:
        return self.excludes_folder(path.parent) or self._matched(path, "")

    def _matched(self, path: Path, slash: str) -> str:
        if path.is_relative_to(self.root) and self._globs.match_file(_below(path, self.root).as_posix() + slash):
            return "a setting excludes it"
        if not path.is_relative_to(self._top):
            return ""
        for name in FILES:
            for folder in path.parents:
                spec = self._spec_of(folder).get(name)
                verdict = spec.check_file(_below(path, folder).as_posix() + slash).include if spec else None
                if verdict:
                    return f"{name} excludes it"
                if verdict is False or folder == self._top:
                    break
        personal = self._personal.match_file(_below(path, self._top).as_posix() + slash)
        return "git's own exclude file excludes it" if personal else ""

    def _spec_of(self, folder: Path) -> dict[str, GitIgnoreSpec]:
        if folder not in self._specs:
            self._specs[folder] = {name: _spec([folder / name]) for name in FILES if (folder / name).is_file()}
        return self._specs[folder]


def _spec(files: list[Path]) -> GitIgnoreSpec:
    lines: list[str] = []
    for file in files:
        try:
            lines += file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
        except OSError:
            continue
    return GitIgnoreSpec.from_lines(filter(is_pattern, lines))


def is_pattern(line: str) -> bool:
    """Git passes over a line that is no pattern; the library would refuse the whole file."""
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _excludes(top: Path) -> list[Path]:
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return [_git(top) / "info" / "exclude", home / "git" / "ignore"]


def _git(top: Path) -> Path:
    """The folder that git keeps; in a worktree and in a submodule `.git` is a file that says where."""
    git = top / ".git"
    if git.is_file():
        with suppress(OSError, ValueError):
            git = top / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
            git = git / (git / "commondir").read_text(encoding="utf-8").strip()
    return git


def _repository(root: Path) -> Path:
    """The folder whose `.gitignore` counts first: the repository's, or `root` outside of one."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)


def _below(path: Path, folder: Path) -> PurePath:
    return path.relative_to(folder) if path.is_relative_to(folder) else path
