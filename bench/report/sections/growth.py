"""How cost grows with work."""

from bench.report import plots
from bench.report.load import Result, Results
from bench.report.page import Plot, Section, Table, best

TEXT = """Milliseconds until all is there, medians. *Context*: 16 tokens after so many, warm, and cold in brackets.
*Gap*: so many tokens after 300 cached ones, and in brackets until the first line stands, which is when an editor
could show something. *Sites*: so many lines of one document in one request; *users*: so many documents at once;
nothing cached, in brackets the first answer."""


def section(results: Results) -> Section | None:
    found = results.of("growth")
    if not found:
        return None
    figures = [
        Plot(one.name, plots.growth(one), "milliseconds by context, gap, sites and users", one.measured)
        for one in found
    ]
    tables = [table(one, kind) for one in found for kind in plots.KINDS if sizes(one, kind)]
    return Section("growth", "How cost grows", TEXT, tables, figures)


def sizes(result: Result, kind: str) -> list[int]:
    return sorted({int(name.split("/")[2]) for name in result.metrics if name.count("/") == 3 and f"/{kind}/" in name})


def table(result: Result, kind: str) -> Table:
    names = [
        name for name in result.contenders if any(result.get(name, kind, size, "ms") for size in sizes(result, kind))
    ]
    columns = []
    for size in sizes(result, kind):
        values = [result.get(name, kind, size, "ms") for name in names]
        cells = [
            _cell(value, result.get(name, kind, size, plots.MORE[kind]))
            for name, value in zip(names, values, strict=True)
        ]
        columns.append(best(cells, values, least=True))
    rows = [[name, *(column[at] for column in columns)] for at, name in enumerate(names)]
    title = f"{kind}, {result.name.removeprefix('growth-')}"
    return Table(["", *(f"{size:,}" for size in sizes(result, kind))], rows, result.measured, title)


def _cell(value: float | None, more: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" + (f" ({more:,.0f})" if more is not None else "")
