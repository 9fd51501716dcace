"""What a run shows."""

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from bench.replay.files import FILES

ROWS: tuple[tuple[str, str, str], ...] = (
    ("writing/completed", "characters completed, writing", "{:.1%}"),
    ("writing/keys_saved", "keys saved, of a key for each character", "{:.1%}"),
    ("all/right_first", "right when shown, first line", "{:.1%}"),
    ("all/used_first", "used when shown, at least a part", "{:.1%}"),
    ("all/right_whole", "right when shown, whole", "{:.1%}"),
    ("all/right_visible", "right, of keys with one visible", "{:.1%}"),
    ("all/wrong_suggestions_per_100", "wrong suggestions per 100 keys", "{:.1f}"),
    ("all/wrong_per_100", "keys with a wrong one visible, per 100", "{:.1f}"),
    ("all/in_the_way_per_100", "with one of which nothing is taken", "{:.1f}"),
    ("all/shown_per_100", "suggestions per 100 keys", "{:.1f}"),
    ("all/quiet", "quiet where quiet is right", "{:.1%}"),
    ("all/quiet_delete", "before a deletion", "{:.1%}"),
    ("all/quiet_move", "before a move", "{:.1%}"),
    ("all/quiet_newline", "before a newline, or right", "{:.1%}"),
    ("writing/first_right_p50_s", "to the first right suggestion at a place: p50, s", "{:.1f}"),
    ("writing/saved_per_minute", "keys saved a minute, writing", "{:.0f}"),
    ("all/kept_30_s", "of what was accepted, there after 30 s", "{:.1%}"),
    ("all/kept_50_keys", "after 50 keys", "{:.1%}"),
    ("all/reversals_per_100_shown", "of 100 shown, what was just deleted", "{:.1f}"),
    ("all/from_memory", "from memory, of keys with one visible", "{:.1%}"),
    ("all/late", "the next key came first", "{:.1%}"),
    ("all/forwards_per_100", "steps per 100 keys", "{:.0f}"),
    ("all/prompt_tokens_per_100", "prompt tokens computed per 100 keys", "{:.0f}"),
    ("shown_p50_ms", "key to suggestion, from the engine: p50, ms", "{:.0f}"),
    ("shown_p95_ms", "p95", "{:.0f}"),
    ("warm_p50_ms", "key to the engine's answer, shown or not: p50, ms", "{:.0f}"),
    ("warm_p90_ms", "p90", "{:.0f}"),
    ("warm_p95_ms", "p95", "{:.0f}"),
    ("warm_p99_ms", "p99", "{:.0f}"),
    ("cold_p50_ms", "cold: p50, ms", "{:.0f}"),
    ("cold_p95_ms", "p95", "{:.0f}"),
    ("memory_p50_ms", "from memory: p50, ms", "{:.1f}"),
    ("memory_p95_ms", "p95", "{:.1f}"),
    ("completed_ratio", "completed, to the baseline", "{:.2f}"),
    ("wrong_per_100_ratio", "wrong, to the baseline", "{:.2f}"),
    ("warm_p50_ratio", "warm p50, to the baseline", "{:.2f}"),
    ("others", "other programs' share of the machine", "{:.0%}"),
)

# Of what is written in each language.
BY_LANGUAGE = (
    ("completed", "{}: characters completed", "{:.1%}"),
    ("right_first", "right when shown, first line", "{:.1%}"),
    ("wrong_per_100", "keys with a wrong one visible, per 100", "{:.1f}"),
)


def show(title: str, contenders: list[str], metrics: Mapping[str, float]) -> None:
    table = Table("", *contenders, title=title, title_justify="left")
    languages = [name for name in FILES if any(f"{who}/{name}/scripts" in metrics for who in contenders)]
    rows = [(f"{name}/{what}", label.format(name), form) for name in languages for what, label, form in BY_LANGUAGE]
    for name, label, form in (*ROWS, *rows):
        cells = [_cell(metrics, f"{contender}/{name}", form) for contender in contenders]
        if any(cells):
            table.add_row(label, *cells)
    out = Console()
    out.width = max(out.width, 140)
    out.print(table)


def _cell(metrics: Mapping[str, float], key: str, form: str) -> str:
    """The value with its interval; empty where there is none."""
    if key not in metrics:
        return ""
    value = form.format(metrics[key])
    if f"{key}_low" not in metrics:
        return value
    return f"{value} ({form.format(metrics[f'{key}_low'])} to {form.format(metrics[f'{key}_high'])})"
