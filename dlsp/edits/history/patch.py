"""Read an edit from a unified diff of a file to which it is already applied."""

from pathlib import Path

from unidiff.constants import LINE_TYPE_NO_NEWLINE
from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk as PatchHunk
from unidiff.patch import PatchSet

from dlsp.edits.history.hunks import Hunk, applied, lines_of
from dlsp.errors import UserError


def read_patch(text: str, folder: Path | None = None) -> tuple[Path, str]:
    """Return the one file that the diff changes and its text before the change.

    Paths are relative to `folder`, by default the current one. Raises UserError if the diff is not of one file, the
    file cannot be read, or it does not contain the change.
    """
    try:
        patches = list(PatchSet(text))
    except UnidiffParseError:
        patches = []
    if len(patches) != 1 or not patches[0].is_modified_file:
        raise UserError(
            "The diff must be a unified one that changes one file: for example what `git diff FILE` prints."
        )
    file = (folder or Path.cwd()) / _named(patches[0].path)
    try:
        lines = lines_of(file.read_bytes().decode("utf-8"))
    except (OSError, UnicodeDecodeError):
        raise UserError(f"{file} cannot be read: run this where the diff's paths begin.") from None
    undone: list[Hunk] = []
    for hunk in patches[0]:
        old, new = _sides(hunk)
        start = hunk.target_start - (1 if new else 0)
        if lines[start : start + len(new)] != new:
            raise UserError(f"{file} does not hold the change of the diff: apply it first.")
        undone.append(Hunk(start, start + len(new), tuple(old)))
    return file, "".join(applied(lines, undone))


def _named(path: str) -> str:
    """Decode a path that git has quoted: octal bytes beyond ASCII, escaped quotes."""
    if not (path.startswith('"') and path.endswith('"')):
        return path
    try:
        return path[1:-1].encode().decode("unicode_escape").encode("latin-1").decode()
    except UnicodeError:
        return path


def _sides(hunk: PatchHunk) -> tuple[list[str], list[str]]:
    """The hunk's lines before and after; a line followed by "No newline" has no line end."""
    old: list[str] = []
    new: list[str] = []
    sides: list[list[str]] = []
    for line in hunk:
        if line.line_type == LINE_TYPE_NO_NEWLINE:
            for side in sides:
                side[-1] = side[-1].removesuffix("\n")
            continue
        sides = [side for side, has in ((old, line.is_added), (new, line.is_removed)) if not has]
        for side in sides:
            side.append(line.value)
    return old, new
