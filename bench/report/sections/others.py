"""Every other bench as it stands in its file: no result goes without a table."""

from bench.report.load import Result, Results
from bench.report.page import Section, Table

ELSEWHERE = ("quality", "peers", "growth", "decode", "identity", "watch")
TITLES = {"replay": "Typing, replayed", "edits": "Edits carried on"}
FIRST = ("replay", "edits", "keystroke", "neovim", "vscode", "overhead", "start", "context")
# Rows of a table; the file has the rest.
MOST = 60


def sections(results: Results) -> list[Section]:
    own = [one for one in results if one.name.split("-")[0] not in ELSEWHERE]
    leading = [[one for one in own if one.name.split("-")[0] == name] for name in TITLES]
    rest = [one for one in own if one.name.split("-")[0] not in TITLES]
    rest.sort(key=lambda one: (_rank(one), one.name))
    made = [
        Section(name, title, "", [table(one) for one in found])
        for (name, title), found in zip(TITLES.items(), leading, strict=True)
        if found
    ]
    if rest:
        made.append(Section("others", "The rest of the way to the screen", "", [table(one) for one in rest]))
    return made


def _rank(result: Result) -> int:
    name = result.name.split("-")[0]
    return FIRST.index(name) if name in FIRST else len(FIRST)


def table(result: Result) -> Table:
    """Metrics that share all but their last part stand in one row."""
    groups: dict[str, dict[str, float]] = {}
    for name, value in result.metrics.items():
        group, _, last = name.rpartition("/")
        groups.setdefault(group, {})[last] = value
    columns = list(dict.fromkeys(last for of in groups.values() for last in of))
    if len(columns) > 6:
        rows = [[name, f"{value:,g}"] for name, value in result.metrics.items()][:MOST]
        return Table(["metric", "value"], rows, result.measured, result.name)
    rows = [[group or "all", *(f"{of[c]:,g}" if c in of else "" for c in columns)] for group, of in groups.items()]
    return Table(["", *columns], rows[:MOST], result.measured, result.name)
