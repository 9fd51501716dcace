"""The recorded gap as a moving SVG for the README: `python -m bench.report.film`.

Autoregressive on the left, verified on the right, slowed down alike; drawn from the results file alone.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from bench.command import guarded
from bench.report.load import load
from bench.report.readme import MACHINE
from dlsp.errors import UserError

FILE = Path(__file__).parents[2] / "docs" / "pictures" / "watch.svg"
TITLE, MODES = "a line", ("autoregressive", "verified")
SLOWER, KEEP_MS = 6, 3000
COLUMNS, WIDTH, HEIGHT, MARGIN = 60, 7.25, 19, 18
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
STYLE = """text{white-space:pre}.paper{fill:#fff;stroke:#e4e2dd}.around{fill:#8a9099}.fixed{fill:#22252b}
.draft{fill:#9a6414;font-style:italic}.mask{fill:#c9c4b8}.name{fill:#22252b;font-weight:600}.count{fill:#646b76}
@media(prefers-color-scheme:dark){.paper{fill:#1b1e23;stroke:#2d3138}.around{fill:#7d8590}.fixed,.name{fill:#e3e5e8}
.draft{fill:#dba85a}.mask{fill:#4a505a}.count{fill:#9aa2ad}}"""

# Kind and text.
Pieces = list[tuple[str, str]]


def film(sample: dict[str, Any], measured: str) -> str:
    """Both sides of one sample of `bench.watch`; the last picture stays a while before all begins anew."""
    takes = [sample["modes"][mode] for mode in MODES]
    total = SLOWER * max(take["ms"] for take in takes) + KEEP_MS
    rows = 3 + max(len(_lines(_pieces(sample, take, len(take["frames"]) - 1))) for take in takes)
    side = COLUMNS * WIDTH + 2 * MARGIN
    style, drawn = [STYLE], []
    for column, (mode, take) in enumerate(zip(MODES, takes, strict=True)):
        body = f'<text class="name" x="{MARGIN}" y="{MARGIN + 12}">{mode}</text>'
        for number, (start, end) in enumerate(_times(take, total)):
            name = f"s{column}f{number}"
            style.append(_animation(name, start / total, end / total, total, last=end == total))
            body += f'<g class="{name}">{_picture(sample, take, number, rows)}</g>'
        drawn.append(f'<g transform="translate({column * side:.0f},0)">{body}</g>')
    width, height = 2 * side, rows * HEIGHT + 2 * MARGIN
    paper = f'<rect class="paper" x=".5" y=".5" width="{width - 1:.0f}" height="{height - 1}" rx="10"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-family="{FONT}" '
        f'font-size="12" xml:space="preserve"><title>{escape(f"{MODES[0]} and {MODES[1]}: {measured}")}</title>'
        f"<style>{''.join(style)}</style>"
        f"{paper}{''.join(drawn)}</svg>\n"
    )


def _times(take: dict[str, Any], total: float) -> Iterator[tuple[float, float]]:
    """When each state is shown, in milliseconds of the film: the empty gap first, the answer last."""
    starts = [0.0, *(SLOWER * frame["ms"] for frame in take["frames"])]
    yield from zip(starts, [*starts[1:], total], strict=True)


def _animation(name: str, start: float, end: float, total: float, last: bool) -> str:
    still = 1 if last else 0  # where nothing moves, the answer is shown
    before = f"0%{{opacity:0}}{100 * start:.2f}%{{opacity:1}}" if start else "0%{opacity:1}"
    after = "" if last else f"{100 * end:.2f}%{{opacity:0}}"
    rule = f"opacity:{still};animation:{name} {total / 1000:.2f}s step-end infinite"
    return f"@keyframes {name}{{{before}{after}100%{{opacity:{still}}}}}.{name}{{{rule}}}"


def _picture(sample: dict[str, Any], take: dict[str, Any], number: int, rows: int) -> str:
    """The `number`th state, 0 for the empty gap, and what it took so far."""
    lines = [
        f'<text x="{MARGIN}" y="{MARGIN + 12 + HEIGHT * (row + 1)}">{"".join(_spans(pieces))}</text>'
        for row, pieces in enumerate(_lines(_pieces(sample, take, number - 1)))
    ]
    done = number == len(take["frames"])
    forwards = take["forwards"] if done else number
    said = f"{forwards} forward{'' if forwards == 1 else 's'}" + (f", {take['ms']:.0f} ms" if done else "")
    return f'{"".join(lines)}<text class="count" x="{MARGIN}" y="{MARGIN + HEIGHT * (rows - 0.4):.0f}">{said}</text>'


def _pieces(sample: dict[str, Any], take: dict[str, Any], frame: int) -> Pieces:
    shown = take["frames"][frame] if frame >= 0 else {"committed": "", "canvas": []}
    canvas = [("mask", "░░") if token is None else ("draft", token) for token in shown["canvas"]]
    return [
        ("around", sample["before"]),
        ("fixed", shown["committed"]),
        *canvas,
        ("around", sample["after"].rstrip("\n")),
    ]


def _lines(pieces: Pieces) -> list[Pieces]:
    lines: list[Pieces] = [[]]
    for kind, text in pieces:
        first, *rest = text.split("\n")
        lines[-1].append((kind, first))
        lines += [[(kind, line)] for line in rest]
    return lines


def _spans(pieces: Sequence[tuple[str, str]]) -> Iterator[str]:
    room = COLUMNS
    for kind, text in pieces:
        if text and room > 0:
            yield f'<tspan class="{kind}">{escape(text if len(text) <= room else text[: room - 1] + "…")}</tspan>'
            room -= len(text)


def drawn() -> str:
    """The film of the README's machine; UserError where nothing is recorded."""
    found = load(machine=MACHINE).of("watch")
    samples = [(one, result.measured) for result in found for one in result.samples if one["title"] == TITLE]
    if not samples:
        raise UserError("No gap is recorded: run `python -m bench.watch` first.")
    return film(*samples[0])


@guarded()
def main(arguments: list[str] | None = None) -> int:
    argparse.ArgumentParser("python -m bench.report.film", description="The README's film.").parse_args(arguments)
    text = drawn()
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text, encoding="utf-8")
    print(f"Written to {FILE}, {len(text) // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
