"""Where settings come from, for each folder of the workspace. Changes apply to the next request.

The later the stronger: `[tool.dlsp]` in the folder's `pyproject.toml`, `initializationOptions`, then what the editor
says in `workspace/configuration` or `workspace/didChangeConfiguration`. The user's editor goes before the project.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dlsp.settings.project import Unusable, tool_table
from dlsp.settings.schema import PROJECT, READERS, Settings, settings

SECTION = "dlsp"
EDITORS_OWN = frozenset({"command", "debounce", "edits", "enabled", "languages"})
"""What extensions keep for themselves under the same section, and send along."""

Stamp = tuple[int, int] | None


class Configuration:
    """`of(folder)` are the settings there. What cannot be used is told once."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._told: set[str] = set()
        self._initial: Mapping[str, Any] = {}
        self._pushed: Mapping[str, Any] = {}
        self._pulled: dict[Path | None, Mapping[str, Any]] = {}
        self._made: dict[Path | None, tuple[Stamp, Settings]] = {}

    def begin(self, options: Any) -> None:
        """Take `initializationOptions`."""
        self._initial = self._named(options)
        self._made.clear()
        self.of(None)

    def push(self, given: Any) -> None:
        """Take the settings of a `didChangeConfiguration`, with or without our section's name around them."""
        given = _mapping(given)
        self._pushed = self._named(given[SECTION]) if SECTION in given else given
        self._made.clear()
        self.of(None)

    def pull(self, given: Mapping[Path | None, Any]) -> None:
        """Take what the editor answered for each folder, and for None, to `workspace/configuration`."""
        self._pulled = {folder: self._named(each) for folder, each in given.items()}
        self._made.clear()
        self.of(None)

    def of(self, folder: Path | None) -> Settings:
        """The settings of documents in this folder of the workspace, of others for None."""
        file = folder / "pyproject.toml" if folder else None
        stamp = _stamp(file)
        if (made := self._made.get(folder)) and made[0] == stamp:
            return made[1]
        project = self._project(file) if file and stamp else {}
        own = self._pulled.get(folder, self._pulled.get(None, {}))
        read, complaints = settings([project, self._initial, self._pushed, own])
        for complaint in complaints:
            self._complain(complaint)
        self._made[folder] = stamp, read
        return read

    def _named(self, given: Any) -> Mapping[str, Any]:
        """Settings that are meant for this server: a name that it does not know is a slip."""
        table = self._table(given, "The settings of dlsp are")
        for name in sorted(table.keys() - READERS.keys() - EDITORS_OWN):
            self._complain(f"There is no setting '{name[:40]}': use one of {', '.join(sorted(READERS))}.")
        return table

    def _table(self, given: Any, what: str) -> Mapping[str, Any]:
        if isinstance(given, str | int | float | list) and given != []:  # in Lua an empty table is an empty list
            self._complain(f"{what} a table of names and values, not '{str(given)[:40]}'.")
        return _mapping(given)

    def _project(self, file: Path) -> Mapping[str, Any]:
        try:
            table = self._table(tool_table(file), f"[tool.dlsp] in {file} is")
        except Unusable as why:
            self._complain(f"{file} cannot be read ({why}): its [tool.dlsp] is left out.")
            return {}
        for name in table.keys() - PROJECT:
            self._complain(f"'{name[:40]}' cannot be set in pyproject.toml: use one of {', '.join(sorted(PROJECT))}.")
        return {name: value for name, value in table.items() if name in PROJECT}

    def _complain(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self._tell(sentence)


def _mapping(value: Any) -> Mapping[str, Any]:
    """What an editor sent, as pygls may have wrapped it."""
    if isinstance(value, Mapping):
        return value
    if hasattr(value, "_asdict"):
        return value._asdict()
    return getattr(value, "__dict__", {})


def _stamp(file: Path | None) -> Stamp:
    try:
        stat = file.stat() if file else None
    except OSError:
        return None
    return (stat.st_mtime_ns, stat.st_size) if stat else None
