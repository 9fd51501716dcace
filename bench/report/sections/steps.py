"""The answer's identity, and what a step brings."""

from bench.report import plots
from bench.report.load import Result, Results
from bench.report.page import Plot, Section, Table, best, number, percent

TEXT = """Decode time a gap against autoregressive decoding in the same engine, prefill apart, gap by gap in changing
order; tau is tokens committed a forward."""


def section(results: Results) -> Section | None:
    found = results.of("decode")
    tables = [table(one) for one in found]
    if proof := results.one("identity"):
        tables.insert(0, identity(proof))
    if not tables:
        return None
    figures = [Plot(one.name, plots.steps(one), f"decode time against tau, {one.name}", one.measured) for one in found]
    return Section("steps", "Steps", TEXT, tables, figures)


def table(result: Result) -> Table:
    names = result.contenders
    ratios = [result.get(name, "ratio_median") for name in names]
    cells = [
        f"{number(ratio, 2)} ({number(result.get(name, 'ratio_q1'), 2)} to {number(result.get(name, 'ratio_q3'), 2)})"
        for name, ratio in zip(names, ratios, strict=True)
    ]
    rows = [
        [
            name,
            shown,
            number(result.get(name, "decode_ms_median"), 0),
            number(result.get(name, "tau"), 2),
            number(result.get(name, "forwards")),
            number(result.get(name, "rows")),
            percent(result.get(name, "identical"), 0),
        ]
        for name, shown in sorted(zip(names, best(cells, ratios, least=True), strict=True))
    ]
    heading = ["variant", "time, autoregressive = 1", "ms a gap", "tau", "forwards", "rows", "same answer"]
    return Table(heading, rows, result.measured, f"{result.name.removeprefix('decode-')}, {len(result.samples)} gaps")


def identity(result: Result) -> Table:
    schedules = sorted({name.split("/")[1] for name in result.metrics if name.count("/") == 2})
    drafts = dict.fromkeys(name.split("/")[0] for name in result.metrics if name.count("/") == 2)
    rows = [
        [
            f"{draft}, {schedule}",
            *(number(result.get(draft, schedule, what), 0) for what in ("identical", "tie", "different")),
            number(result.get(draft, schedule, "tau"), 2),
        ]
        for draft in drafts
        for schedule in schedules
    ]
    title = f"Is the answer the same? float32, {result.metrics['gaps']:.0f} gaps"
    return Table(["drafts, schedule", "identical", "ties", "different", "tau"], rows, result.measured, title)
