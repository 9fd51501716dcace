"""Git's exclude files outside of the work tree: `.git/info/exclude` and `core.excludesFile`."""

import os
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path

from dlsp import paths
from dlsp.ignore.reading import MAX_RULE_BYTES, read

GIT_TIMEOUT_S = 2


def exclude_files(top: Path) -> list[tuple[Path, Path | None]]:
    """The exclude files of the repository `top`, highest priority first, each with the folder it must be in (None:
    any).

    A file named in the user's own git settings may be anywhere and be a link. One named in the repository's
    `.git/config` comes with the repository, so it must not lead outside of it.
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
    """The git folder. In a worktree or submodule, `.git` is a file that names it."""
    git = top / ".git"
    with suppress(OSError, ValueError):
        git = top / read(git, MAX_RULE_BYTES, top).decode().removeprefix("gitdir:").strip()
        git = git / read(git / "commondir", MAX_RULE_BYTES, git).decode().strip()
    return git


def _of_repository(git: Path) -> str:
    """`core.excludesFile` of the repository's settings; "" if unset.

    Git gets the settings on its standard input, because a file that it opened itself could be a pipe.
    """
    try:
        config = read(git / "config", MAX_RULE_BYTES, git)
    except OSError:
        return ""
    return _asked("--file", "-", given=config) if b"excludesfile" in config.lower() else ""


@cache
def _of_user(*_: str | None) -> Path | None:
    """`core.excludesFile` of the user's settings; cached by the places git looks in, as the settings may span many
    files."""
    named = _asked("--global", "--includes") or _asked("--system", "--includes")
    return Path(named) if named else None


def _asked(*where: str, given: bytes = b"") -> str:
    asked = ["git", "config", *where, "--type=path", "--get", "core.excludesFile"]
    try:
        answer = subprocess.run(asked, cwd=os.sep, input=given, capture_output=True, timeout=GIT_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError):
        return ""
    return os.fsdecode(answer.stdout).removesuffix("\n")
