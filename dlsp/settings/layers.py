"""Sources of settings, for each workspace folder. Changes apply to the next request.

Later ones override earlier ones: `[tool.dlsp]` in the folder's `pyproject.toml`, `initializationOptions`, then the
editor's `workspace/configuration` or `workspace/didChangeConfiguration`. The user's editor overrides the project.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import attrs

from dlsp.errors import UserError
from dlsp.models import added, store
from dlsp.models.catalogue import CATALOGUE
from dlsp.paths import cache_dir
from dlsp.settings.project import Unusable, tool_table
from dlsp.settings.schema import FIELDS, PROJECT_FIELDS, Settings, Sizing, merged, sizing

SECTION = "dlsp"
# Settings that editor extensions use themselves and send along in the same section.
EXTENSION_SETTINGS = frozenset({"command", "debounce", "edits", "enabled", "suggestByLanguage"})
# What clients of Copilot's language server say in `initializationOptions`.
COPILOT_OPTIONS = frozenset({"editorInfo", "editorPluginInfo", "copilotCapabilities", "copilotIntegrationId"})

Stamp = tuple[int, int] | None


@dataclass(frozen=True)
class Project:
    """The `[tool.dlsp]` of a folder's pyproject.toml, read when the file had this stamp."""

    stamp: Stamp = None
    table: Mapping[str, Any] = ()  # type: ignore[assignment]
    complaints: tuple[str, ...] = ()


class SettingsLayers:
    """Merges the sources of settings; `of(folder)` returns the result for a folder.

    `tell` is called with a sentence for each value that cannot be used, once until it is corrected. Only `refresh`
    reads files; it may run in a thread.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._standing: dict[Hashable, frozenset[str]] = {}
        self._initial: Mapping[str, Any] = {}
        self._pushed: Mapping[str, Any] = {}
        self._pulled: dict[Path | None, Mapping[str, Any]] = {}
        self._projects: dict[Path | None, Project] = {None: Project()}
        self._machine: tuple[Any, ...] | None = None
        self._sizing = Sizing()
        self._made: dict[Path | None, Settings] = {}

    def set_initial(self, options: Any) -> None:
        """Take `initializationOptions`."""
        self._initial = self._known("initial", options)
        self._changed()

    def set_pushed(self, given: Any) -> None:
        """Take the settings of a `didChangeConfiguration`, with or without the section's name around them."""
        given = as_mapping(given)
        if SECTION in given:
            self._pushed = self._known("pushed", given[SECTION])
        else:
            self._pushed, self._standing["pushed"] = given, frozenset()
        self._changed()

    def set_pulled(self, given: Mapping[Path | None, Any]) -> None:
        """Take the editor's answer to `workspace/configuration`, for each folder and for None."""
        self._pulled = {folder: self._known(("pulled", folder), each) for folder, each in given.items()}
        self._changed()

    def refresh(self, folder: Path | None) -> None:
        """Reread the folder's pyproject.toml, and what decides which model suits the machine, if they have changed."""
        self._refresh_project(folder)
        machine = _machine_stamp()
        if machine != self._machine:
            self._machine, self._sizing = machine, sizing()
            self._made = {}

    def of(self, folder: Path | None) -> Settings:
        """The settings for documents in this workspace folder (None: outside of all), as of the last `refresh`."""
        if folder not in self._projects or self._machine is None:
            self.refresh(folder)
        if (made := self._made.get(folder)) is not None:
            return made
        project = self._projects[folder]
        own = self._pulled.get(folder, self._pulled.get(None, {}))
        settings, complaints = merged([dict(project.table), self._initial, self._pushed, own], self._sizing.added)
        self._complain(("project", folder), project.complaints)
        self._complain(("settings", folder), complaints)
        self._made[folder] = attrs.evolve(settings, sizing=self._sizing)
        return self._made[folder]

    def _changed(self) -> None:
        self._made = {}
        self.of(None)

    def _refresh_project(self, folder: Path | None) -> None:
        if folder is None:
            return
        file = folder / "pyproject.toml"
        stamp, known = _stamp(file), self._projects.get(folder)
        if known and known.stamp == stamp:
            return
        try:
            self._projects[folder] = _project(file, stamp) if stamp else Project()
        except Unusable as why:
            # While the file is invalid, as during an edit, its previous table still applies: it may exclude files.
            table: Mapping[str, Any] = known.table if known else {}
            complaint = f"{file} cannot be read ({why}): its [tool.dlsp] is left out."
            self._projects[folder] = Project(stamp, table, (complaint,))
        self._made.pop(folder, None)

    def _known(self, source: Hashable, given: Any) -> Mapping[str, Any]:
        """Settings meant for this server; complains about names that it does not know."""
        table, complaints = _table(given, "The settings of dlsp are")
        unknown = sorted(table.keys() - FIELDS.keys() - EXTENSION_SETTINGS - COPILOT_OPTIONS)
        names = ", ".join(sorted(FIELDS))
        complaints += [f"There is no setting '{name[:40]}': use one of {names}." for name in unknown]
        self._complain(source, complaints)
        return table

    def _complain(self, source: Hashable, sentences: Iterable[str]) -> None:
        """Report the sentences about a source that were not reported yet; other sentences about it count as
        resolved."""
        before: frozenset[str] = frozenset[str]().union(*self._standing.values())
        sentences = list(dict.fromkeys(sentences))
        self._standing[source] = frozenset(sentences)
        for sentence in sentences:
            if sentence not in before:
                self._tell(sentence)


def as_mapping(value: Any) -> Mapping[str, Any]:
    """What an editor sent, unwrapped from pygls' objects."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    if hasattr(value, "_asdict"):
        return value._asdict()
    return getattr(value, "__dict__", {})


def _project(file: Path, stamp: Stamp) -> Project:
    """The project's settings from its file. Raises Unusable."""
    table, complaints = _table(tool_table(file), f"[tool.dlsp] in {file} is")
    allowed = ", ".join(sorted(PROJECT_FIELDS))
    for name in table.keys() - PROJECT_FIELDS:
        complaints.append(f"'{name[:40]}' cannot be set in pyproject.toml: use one of {allowed}.")
    mine = {name: value for name, value in table.items() if name in PROJECT_FIELDS}
    return Project(stamp, mine, tuple(complaints))


def _table(given: Any, what: str) -> tuple[Mapping[str, Any], list[str]]:
    wrong = isinstance(given, str | int | float | list) and given != []  # in Lua, an empty table is an empty list
    complaint = f"{what} a table of names and values, not '{given!s:.40}'."
    return as_mapping(given), [complaint] if wrong else []


def _stamp(file: Path) -> Stamp:
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _machine_stamp() -> tuple[Any, ...]:
    """A value that changes when the engine has measured itself, or a model was downloaded, added or removed."""
    try:
        costs = _stamp(cache_dir() / "costs.json")
        return costs, _stamp(added.folder()), *(store.place(model).is_file() for model in CATALOGUE)
    except (OSError, UserError):
        return ()
