"""Quality: pass@1 by variant, and against the forwards that were spent."""

from bench.report import plots
from bench.report.load import Result, Results
from bench.report.page import Plot, Section, Table, number, percent

TEXT = """Each gap's program is run against its tests; pass@1 with its 95% interval, drawn over whole problems.
`empty` is the floor: nothing filled in. *Known* variants are told the gap's true length, which no editor knows: what
is between them and their unknown twins is what length costs a diffusion model."""


def section(results: Results) -> Section | None:
    found = results.of("quality")
    if not found:
        return None
    drawn = [one for one in found if any(name.startswith("diffusion") for name in one.contenders)]
    figures = [
        Plot(
            f"quality-{one.name.removeprefix('quality-')}",
            plots.quality(one),
            f"pass@1 against forwards a gap, {title(one)}",
            one.measured,
        )
        for one in drawn
    ]
    return Section("quality", "Quality", TEXT, [table(one) for one in found], figures)


def title(result: Result) -> str:
    gaps = result.more.get("samples_of", len(result.samples))
    return f"{result.name.removeprefix('quality-')}, {gaps} gaps"


def interval(result: Result, variant: str) -> str:
    """`56.1% (52.1 to 60.2)`"""
    low, high = (result.metrics[f"{variant}/pass_at_1_{end}"] for end in ("low", "high"))
    return f"{percent(result.get(variant, 'pass_at_1'))} ({100 * low:.1f} to {100 * high:.1f})"


def table(result: Result) -> Table:
    rows = []
    for name in result.contenders:
        spent = name != "empty"
        rows.append(
            [
                name,
                interval(result, name),
                number(result.get(name, "forwards_per_gap")) if spent else "",
                number(result.get(name, "tau"), 2) if spent else "",
                percent(result.get(name, "identical")),
            ]
        )
    heading = ["variant", "pass@1", "forwards a gap", "tau", "same answer as autoregressive"]
    return Table(heading, rows, result.measured, title(result))
