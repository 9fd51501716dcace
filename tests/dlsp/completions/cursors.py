"""Cursors for tests of the completion domain, without an editor."""

from pathlib import Path
from typing import Any

from dlsp.completions.types import Cursor, Position
from dlsp.context.workspace import Workspace
from dlsp.settings.schema import Settings
from dlsp.syntax import languages

URI = "file:///project/sum.py"


def cursor(before: str, after: str = "", **more: Any) -> Cursor:
    """The cursor between two texts of a Python file that lies in no workspace."""
    path = Path("/project/sum.py")
    row, column = before.count("\n"), len(before) - (before.rfind("\n") + 1)
    given: dict[str, Any] = {
        "uri": URI,
        "path": path,
        "name": path.name,
        "language_id": "python",
        "language": languages.of(path),
        "version": 1,
        "text": before + after,
        "settings": Settings(),
        "workspace": Workspace(None),
        "position": Position(row, column),
        "before": before,
        "after": after,
    }
    return Cursor(**given | more)
