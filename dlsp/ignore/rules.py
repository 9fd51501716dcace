"""The rules of one workspace. All of them add up: nothing that one excludes is let in by another."""

import os
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path

from pathspec import GitIgnoreSpec

from dlsp import paths
from dlsp.ignore.secrets import is_secret

FILES = (".gitignore", ".dlspignore")
ALWAYS = {".git", ".hg", ".svn", "node_modules", "__pycache__"}
MOST_BYTES = 512 * 1024
"""Larger files are data, or made by a program; none is a source of context."""
GIT_S = 2


class Rules:
    """What may be read below `root`, for the file being edited and for every source of context.

    `.gitignore` and `.dlspignore` files are read once; after one of them changed, make new rules.
    """

    def __init__(self, root: Path, globs: tuple[str, ...] = ()) -> None:
        self.root = Path(os.path.abspath(root))
        self._real = Path(os.path.realpath(root))
        self._top = _repository(self._real)
        self._globs = GitIgnoreSpec.from_lines(filter(is_pattern, globs))
        self._personal = _spec(_excludes(self._top))
        self._specs: dict[Path, list[tuple[Path, GitIgnoreSpec]]] = {}
        self._folders: dict[Path, str] = {}

    def excludes(self, path: Path) -> str:
        """Why the text of `path` is not to be read, "" if it may be; looks at names, not into the file."""
        path = Path(os.path.abspath(path))
        real = Path(os.path.realpath(path))
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
                known = self._excludes_folder(path.parent) or self._matched(path, "/")
            self._folders[path] = known
        return known

    def _excluded(self, path: Path) -> str:
        return self._excludes_folder(path.parent) or self._matched(path, "")

    def _matched(self, path: Path, slash: str) -> str:
        def below(folder: Path) -> str:
            return path.relative_to(folder).as_posix() + slash

        if path.is_relative_to(self._real) and self._globs.match_file(below(self._real)):
            return "a setting excludes it"
        if not path.is_relative_to(self._top):
            return ""
        let_in: set[str] = set()
        for file, spec in self._over(path.parent):
            if file.name not in let_in and (verdict := spec.check_file(below(file.parent)).include) is not None:
                if verdict:
                    return f"{file.name} excludes it"
                let_in.add(file.name)
        return "git's own exclude file excludes it" if self._personal.match_file(below(self._top)) else ""

    def _over(self, folder: Path) -> list[tuple[Path, GitIgnoreSpec]]:
        """The files whose patterns count in a folder, the nearest first."""
        if folder not in self._specs:
            files = [folder / name for name in FILES if (folder / name).is_file()]
            above = [] if folder == self._top else self._over(folder.parent)
            self._specs[folder] = [(file, _spec([file])) for file in files] + above
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
    """The files that exclude besides those of the folders, those that win last."""
    told, home = os.environ.get("XDG_CONFIG_HOME"), paths.home()
    config = Path(told) if told else home / ".config" if home else None
    users = _configured(top) or (config / "git" / "ignore" if config else None)
    return [*([users] if users else []), _git(top) / "info" / "exclude"]


@cache
def _configured(top: Path) -> Path | None:
    """The user's `core.excludesFile`: git is asked once, as its settings may stand in many files."""
    asked = ["git", "config", "--type=path", "--get", "core.excludesFile"]
    try:
        answer = subprocess.run(asked, cwd=top, stdin=subprocess.DEVNULL, capture_output=True, timeout=GIT_S)
    except (OSError, subprocess.SubprocessError):
        return None
    file = os.fsdecode(answer.stdout).removesuffix("\n")
    return top / file if file else None


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
