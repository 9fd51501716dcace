"""Sections to files: plots as SVG and PNG, a Markdown page, and an HTML page that needs nothing beside it."""

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from bench.report.load import Results
from bench.report.page import Plot, Section
from bench.report.style import INK

TEMPLATES = Path(__file__).parent / "templates"


def write(results: Results, sections: Sequence[Section], out: Path) -> list[Path]:
    """The files that were written: REPORT.md, report.html, plots/NAME.svg and .png."""
    folder = out / "plots"
    folder.mkdir(parents=True, exist_ok=True)
    drawn = [plot for section in sections for plot in section.plots]
    for plot in drawn:
        (folder / f"{plot.name}.svg").write_text(_svg(plot), encoding="utf-8")
        plot.figure.savefig(folder / f"{plot.name}.png", dpi=160, bbox_inches="tight", facecolor="white")
    pages = {"REPORT.md": markdown(results, sections), "report.html": html(results, sections)}
    for name, text in pages.items():
        (out / name).write_text(text, encoding="utf-8")
    return [out / name for name in pages] + sorted(folder.iterdir())


def markdown(results: Results, sections: Sequence[Section]) -> str:
    parts = [f"# dlsp, measured on {results.machine}", "Drawn from the results files by `dlsp bench report`."]
    for section in sections:
        parts += [f"## {section.title}", section.text]
        for plot in section.plots:
            parts += [f"![{plot.says}](plots/{plot.name}.svg)", f"*{plot.measured}*"]
        for table in section.tables:
            parts += [table.markdown(), f"*{table.measured}*"]
        parts += [f"- {note}" for note in section.notes]
    return "\n\n".join(part for part in parts if part) + "\n"


def html(results: Results, sections: Sequence[Section]) -> str:
    inline = MarkdownIt("commonmark", {"html": False})
    templates = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    templates.filters["inline"] = lambda text: Markup(inline.renderInline(text))
    templates.filters["plot"] = lambda plot: Markup(_inlined(plot))
    return templates.get_template("report.html").render(
        machine=results.machine, sections=sections, watch=Markup(_embedded(watched(results)))
    )


def watched(results: Results) -> dict[str, Any] | None:
    """What the page replays, and on what it was recorded."""
    found = results.of("watch")
    if not found:
        return None
    return {"measured": found[0].measured.replace("`", ""), "gaps": found[0].samples}


def _embedded(content: object) -> str:
    """JSON that may stand in a <script>: nothing in it can end the element."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _svg(plot: Plot) -> str:
    file = io.StringIO()
    plot.figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    return file.getvalue()


def _inlined(plot: Plot) -> str:
    """As part of a page, in the page's own ink; ids are made the plot's own, or those of several would meet."""
    svg = re.sub(r"^.*?(?=<svg)|<metadata>.*?</metadata>", "", _svg(plot), flags=re.DOTALL)
    svg = svg.replace(INK, "currentColor")
    svg = re.sub(r'(\bid="|url\(#|xlink:href="#)', rf"\g<1>{plot.name}-", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{plot.says}" ', 1)
