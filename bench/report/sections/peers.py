"""Beside the peers: one row a contender, the best of each column marked."""

from bench.report import plots
from bench.report.load import Result, Results
from bench.report.page import Plot, Section, Table, best

TEXT = """Same weights, same prompt, same threads, gap by gap in changing order, in one run; medians with quartiles. The
best of a column is bold, whoever it is. `autoregressive n-gram` is our int8 engine without its canvas, checking n-grams
copied from the prompt: the strongest autoregressive peer that we can build. *Warm*: the prompt is cached, as while one
types; *cold*: nothing is."""

# Measure -> its column, and whether less is better.
HEADINGS = {
    "prefill-1000": ("prefill, tokens/s", False),
    "decode": ("decoding, ms a token", True),
    "line": ("a line, warm, ms", True),
    "typed": ("after one more character, ms", True),
    "cold-line": ("a line, cold, ms", True),
}


def section(results: Results) -> Section | None:
    found = results.of("peers")
    if not found:
        return None
    figures = [
        Plot(one.name, plots.peers(one), f"milliseconds by contender, {one.name}", one.measured) for one in found
    ]
    notes = list(dict.fromkeys(note for one in found for note in one.more.get("notes", [])))
    return Section("peers", "Beside llama.cpp and transformers", TEXT, [table(one) for one in found], figures, notes)


def table(result: Result) -> Table:
    names = [name for name in result.contenders if any(result.get(name, each, "median") for each in HEADINGS)]
    columns: list[list[str]] = []
    headings = []
    for measure, (heading, least) in HEADINGS.items():
        values = [result.get(name, measure, "median") for name in names]
        if any(value is not None for value in values):
            headings.append(heading)
            columns.append(best([cell(result, name, measure) for name in names], values, least))
    memory = [result.get(child(result, name), "resident_mb") for name in names]
    headings.append("memory, MB")
    columns.append(best(["" if each is None else f"{each:,.0f}" for each in memory], memory, True))
    rows = [[name, *(column[at] for column in columns)] for at, name in enumerate(names)]
    gaps = result.more.get("samples_of", len(result.samples))
    return Table(["", *headings], rows, result.measured, f"{result.name.removeprefix('peers-')}, {gaps} gaps")


def cell(result: Result, name: str, measure: str) -> str:
    low, middle, high = (result.get(name, measure, which) for which in ("q1", "median", "q3"))
    return "" if middle is None else f"{middle:,.0f} ({low:,.0f} to {high:,.0f})"


def child(result: Result, contender: str) -> str:
    """The process that a contender lives in: the longest of the sides' names that it begins with."""
    sides = [name for name in result.more.get("sides", {}) if contender == name or contender.startswith(f"{name} ")]
    return max(sides, key=len, default=contender)
