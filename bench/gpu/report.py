"""What `python -m bench.gpu` found, as text: short enough for the end of a log."""

from typing import Any

ORDER = (
    ("ms", "ms"),
    ("in_turn_ms", "ms in turn"),
    ("differ", "of 50 differ"),
    ("candidates_ms", "ms with candidates"),
    ("of_floor", "x floor"),
    ("floor_ms", "floor ms"),
    ("of_one_row", "x one row"),
    ("gap_ms_p50", "gap ms"),
    ("gap_of_32_ms_p50", "32 tokens ms"),
    ("step_ms", "step ms"),
    ("tau", "tau"),
    ("tokens_s", "tokens/s"),
    ("of_autoregressive", "x autoregressive"),
    ("identical", "identical"),
    ("as_references", "as the references"),
    ("steps_s", "steps/s"),
    ("batch_ms", "batch ms"),
    ("of_requests", "x requests"),
    ("ms_a_token", "ms a token"),
    ("guess_us", "guess us"),
    ("best_us", "best us"),
    ("best", ""),
)


def report(body: dict[str, Any]) -> str:
    """Failures first, each with its kernel and case; then the checks in one line an op; then what was measured."""
    lines = [f"{body['machine']}, {body['versions']}"]
    if body.get("rehearsal"):
        lines.append("A rehearsal: tiny models on a CPU under the names of real ones; no number means anything.")
    for part, why in body["failed"].items():
        lines += [f"FAILED {part}: {why['failed']}", *(f"    {line}" for line in (why["log"] or [])[-4:])]
    checked: dict[str, list[bool]] = {}
    for sample in body["samples"]:
        if "ok" in sample:
            checked.setdefault(sample["part"], []).append(sample["ok"])
            if not sample["ok"]:
                lines.append(f"WRONG {sample['name']}: {sample.get('failed') or _wrong(sample)}")
    lines += [f"{part}: {sum(oks)} of {len(oks)} right" for part, oks in checked.items()]
    for sample in body["samples"]:
        if "ok" not in sample:
            shown = [f"{label} {_number(sample[key])}".strip() for key, label in ORDER if sample.get(key) is not None]
            note = " !replaced: " + ", ".join(sample["replaced"]) if sample.get("replaced") else ""
            lines.append(f"{sample['name']}: {', '.join(shown)}{note}")
    return "\n".join(lines) + "\n"


def _wrong(sample: dict[str, Any]) -> str:
    known = ("name", "part", "ok", "seed")
    return ", ".join(f"{key} {value}" for key, value in sample.items() if key not in known)[:600]


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
