"""The results files of one machine, or the newest of all."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import results
from dlsp.errors import UserError


@dataclass(frozen=True)
class Result:
    """One file. `name` is the bench's, with what distinguishes the file when a bench was run more than once."""

    name: str
    bench: str
    machine: str
    commit: str
    date: str
    command: str
    metrics: dict[str, float]
    samples: list[dict[str, Any]]
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def measured(self) -> str:
        """On what, by which code and how: the line under every table and plot."""
        hardware = self.more.get("hardware") or self.machine
        note = f"; {self.more['caveat']}" if "caveat" in self.more else ""
        return f"{hardware}; `{self.command}`; commit {self.commit}, {self.date[:10]}{note}"

    @property
    def contenders(self) -> list[str]:
        """The first part of all metrics' names, in order."""
        return list(dict.fromkeys(name.split("/")[0] for name in self.metrics if "/" in name))

    def get(self, *path: object) -> float | None:
        return self.metrics.get("/".join(map(str, path)))


class Results:
    def __init__(self, all_of_them: list[Result], machine: str) -> None:
        self.machine = machine
        self._all = all_of_them

    def __iter__(self) -> Iterator[Result]:
        return iter(self._all)

    def of(self, bench: str) -> list[Result]:
        """Those whose bench is this or begins with it and a dash, by name."""
        return [one for one in self._all if one.name == bench or one.name.startswith(f"{bench}-")]

    def one(self, name: str) -> Result | None:
        return next((one for one in self._all if one.name == name), None)


def load(folder: Path = results.FOLDER, machine: str | None = None) -> Results:
    """The results of `machine`, else of this one, else of the only one that there are results of.

    Raises UserError where there is none, or several and none of this machine.
    """
    found = [_read(path) for path in sorted(folder.glob("*.json"))]
    machines = sorted({one.machine for one in found})
    here = machine or results.machine()
    if here not in machines and machine is None and len(machines) == 1:
        here = machines[0]
    if here not in machines:
        known = f"there are some of {', '.join(machines)}: use --machine" if machines else "run `dlsp bench all` first"
        raise UserError(f"{folder} has no results of {here}; {known}.")
    return Results(sorted((one for one in found if one.machine == here), key=lambda one: one.name), here)


def newest(machine: str, folder: Path = results.FOLDER) -> Results:
    """The newest result of each name, on whatever machine it was measured. `machine` is that of most of them."""
    found: dict[str, Result] = {}
    for one in map(_read, sorted(folder.glob("*.json"))):
        if one.name not in found or one.date > found[one.name].date:
            found[one.name] = one
    return Results(sorted(found.values(), key=lambda one: one.name), machine)


FIELDS = ("bench", "machine", "commit", "date", "command", "metrics", "samples")


def _read(path: Path) -> Result:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        more = {name: value for name, value in content.items() if name not in FIELDS}
        name = path.stem.removesuffix(f"-{content['machine']}")
        return Result(name=name, more=more, **{each: content[each] for each in FIELDS})
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is no results file ({error!r}): remove it or run its bench again.") from error
