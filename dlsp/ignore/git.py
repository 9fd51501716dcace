"""The files in which git keeps patterns besides those in the folders: `.git/info/exclude` and `core.excludesFile`."""

import os
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path

from dlsp import paths
from dlsp.ignore.reading import MOST_RULE_BYTES, read

ANSWER_S = 2


def exclude_files(top: Path) -> list[tuple[Path, Path | None]]:
    """The files of the repository `top`, the strongest first, each with the folder that it must lie in, None for
    anywhere.

    A file that the user's own settings name is the user's: it may lie anywhere and be a link. One that the repository's
    `.git/config` names comes with the repository, which is given nothing to read outside of itself.
    """
    git = _folder(top)
    if named := _of_repository(git):
        excludes = top / named, top
    else:
        home = paths.home()
        config = os.environ.get("XDG_CONFIG_HOME") or (home and home / ".config")
        usual = Path(config) / "git" / "ignore" if config else None
        excludes = _of_user(os.environ.get("HOME"), os.environ.get("XDG_CONFIG_HOME")) or usual, None
    return [(git / "info" / "exclude", git), *((file, inside) for file, inside in [excludes] if file)]


def _folder(top: Path) -> Path:
    """The folder that git keeps. In a worktree and in a submodule `.git` is a file that says where."""
    git = top / ".git"
    with suppress(OSError, ValueError):
        git = top / read(git, MOST_RULE_BYTES, top).decode().removeprefix("gitdir:").strip()
        git = git / read(git / "commondir", MOST_RULE_BYTES, git).decode().strip()
    return git


def _of_repository(git: Path) -> str:
    """What the repository's settings name, "" for nothing. Git reads them from its standard input: what it would open
    itself might be a pipe."""
    try:
        config = read(git / "config", MOST_RULE_BYTES, git)
    except OSError:
        return ""
    return _asked("--file", "-", given=config) if b"excludesfile" in config.lower() else ""


@cache
def _of_user(*_: str | None) -> Path | None:
    """Asked once for each place where git looks, as these settings may stand in many files."""
    named = _asked("--global", "--includes") or _asked("--system", "--includes")
    return Path(named) if named else None


def _asked(*where: str, given: bytes = b"") -> str:
    asked = ["git", "config", *where, "--type=path", "--get", "core.excludesFile"]
    try:
        answer = subprocess.run(asked, cwd=os.sep, input=given, capture_output=True, timeout=ANSWER_S)
    except (OSError, subprocess.SubprocessError):
        return ""
    return os.fsdecode(answer.stdout).removesuffix("\n")
