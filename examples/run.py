"""Complete several places of the small project beside this file, and show what each cost: `make run`."""

import asyncio
import os
import sys
from contextlib import aclosing
from typing import Any

from places import PLACES, Place
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dlsp.cli import guarded
from dlsp.cli._common import engine_of
from dlsp.cli.show import GHOST, MARKS, excerpt
from dlsp.completions import infill
from dlsp.completions.types import CompletionResult
from dlsp.context.build import build
from dlsp.engine.client import Engine
from dlsp.models.catalogue import DEFAULT

MODES = ("autoregressive", "verified")
WATCHED = PLACES[3]

Cost = dict[str, Any]


async def run() -> None:
    console = Console(highlight=False)
    async with await engine_of(DEFAULT) as engine:
        console.print(f"{DEFAULT.name} fills {len(PLACES)} gaps in examples/lending, in two modes.\n")
        costs: list[dict[str, Cost]] = []
        for place in PLACES:
            made = {mode: await complete(engine, place, mode) for mode in MODES}
            show(console, place, made)
            costs.append({mode: suggestion.cost for mode, suggestion in made.items()})
        console.rule("all together", align="left")
        console.print(table({mode: total([cost[mode] for cost in costs]) for mode in MODES}), "")
        console.rule(f"the canvas coming into focus: {title(WATCHED)}", align="left")
        await watch(console, engine, WATCHED)


async def complete(engine: Engine, place: Place, mode: str) -> CompletionResult:
    return infill.result(await engine.fill(request(place, mode)), *place.around())


def request(place: Place, mode: str, use: str = "compared") -> dict[str, Any]:
    """Each mode and use has a session of its own: what one answered would be the next one's draft."""
    before, after = place.around()
    session = f"examples {os.getpid()} {place} {mode} {use}"
    end = infill.end_rule(before)
    return infill.request(build(place.file, before, after), path=place.file, session=session, mode=mode, end=end)


def show(console: Console, place: Place, made: dict[str, CompletionResult]) -> None:
    """The text around the gap with the suggestion in place, and what each mode needed for it."""
    before, after = place.around()
    marks = ("", "") if console.color_system else MARKS
    console.rule(title(place), align="left")
    texts = {suggestion.text: mode for mode, suggestion in reversed(made.items())}
    for text, mode in texts.items():
        if len(texts) > 1:
            console.print(f"{mode}:", style="dim")
        console.print(excerpt(before, text, after, around=3, marks=marks), soft_wrap=True)
    first = made[MODES[0]].cost
    console.print(f"prompt: {first['prompt_tokens']} tokens, {first['prefill_ms']:.0f} ms", style="dim")
    console.print(table({mode: suggestion.cost for mode, suggestion in made.items()}), "")


def table(costs: dict[str, Cost]) -> Table:
    """One row for each mode; the last column compares decode times with the first mode's."""
    table = Table("mode", box=None, padding=(0, 3, 0, 0), header_style="dim")
    for column in ("tokens", "forwards", "tau", "decode ms", "speed"):
        table.add_column(column, justify="right")
    for mode, cost in costs.items():
        speed = costs[MODES[0]]["decode_ms"] / cost["decode_ms"]
        table.add_row(
            mode,
            f"{cost['tokens']}",
            f"{cost['forwards']}",
            f"{cost['tau']:.2f}",
            f"{cost['decode_ms']:.0f}",
            f"{speed:.1f} x",
        )
    return table


def total(costs: list[Cost]) -> Cost:
    """The sum of several costs."""
    sums = {name: sum(cost[name] for cost in costs) for name in ("tokens", "forwards", "decode_ms")}
    return sums | {"tau": sums["tokens"] / sums["forwards"]}


async def watch(console: Console, engine: Engine, place: Place) -> None:
    """Fill a line once more, and show every state: in place on a terminal, else a line for each."""
    line_before = place.around()[0].split("\n")[-1]
    with Live(console=console, auto_refresh=False) as live:
        async with aclosing(engine.infill(request(place, "verified", "watched") | {"end": "line"})) as events:
            async for event in events:
                state = canvas(line_before, event)
                if console.is_terminal:
                    live.update(state, refresh=True)
                    await asyncio.sleep(0.1)
                else:
                    console.print(state, soft_wrap=True)


def canvas(line_before: str, event: dict[str, Any]) -> Text:
    """The line as an event has it: what is fixed, then the positions being denoised, `░` for a mask."""
    text = Text(line_before.lstrip())
    text.append(event["text"] if event["event"] == "fill" else event["committed"], "green")
    for token in event.get("canvas", []):
        text.append("░" if token is None else token.replace("\n", "⏎"), "dim" if token is None else GHOST)
    return text


def title(place: Place) -> str:
    line = place.around()[0].count("\n") + 1
    return f"{place.file}, line {line}"


def main() -> int:
    asyncio.run(run())
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
