"""What `python -m bench.gpu` found, as text: short enough for the end of a log."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Goal:
    """What the samples with this name should reach: at most `limit` of `key`, or if `least` at least."""

    name: str
    key: str
    limit: float
    least: bool = False
    real: bool = False  # whether it can only be judged with real weights

    def judged(self, sample: dict[str, Any]) -> str | None:
        """In words; None if it says nothing about this sample."""
        value = sample.get(self.key)
        if sample["name"] != self.name or value is None:
            return None
        if self.real and not sample.get("real_weights"):
            return f"goal, not judged with random weights: {self.name}: {_label(self.key)} {self._limit}"
        reached = value >= self.limit if self.least else value <= self.limit
        said = "reached" if reached else "MISSED"
        return f"goal {said}: {self.name}: {_label(self.key)} {_number(value)}, {self._limit}"

    @property
    def _limit(self) -> str:
        return f"at {'least' if self.least else 'most'} {self.limit:g}"


# Floors are measured in the same run, so these hold on any GPU.
GOALS = (
    Goal("0.5b dense 1 rows", "of_floor", 1.8),
    Goal("0.5b dense 32 rows", "of_floor", 2.0),
    Goal("0.5b verified-4-copy", "tokens_s", 3000, least=True, real=True),
    Goal("1.5b verified-4-copy", "tokens_s", 1500, least=True, real=True),
    Goal("0.5b verified-4-copy", "gap_of_12_ms_p50", 10, real=True),
    Goal("64 sites, verified", "of_requests", 0.15),
)

# What others publish, tokens a second at batch 1. All but the last two are larger models.
ANCHORS = (
    ("Mercury Coder Mini, on an H100", 1109),
    ("DiffusionGemma 26B-A4B, on an H200, real text", 1288),
    ("LLaDA2.1-mini 16B, quantised, HumanEval+", 1587),
    ("sweep-next-edit 0.5B by llama.cpp with n-gram drafts", 955),
    ("sweep-next-edit 1.5B by llama.cpp with n-gram drafts", 643),
)

ORDER = (
    ("ms", "ms"),
    ("in_turn_ms", "ms in turn"),
    ("differ", "of 50 differ"),
    ("of_floor", "x floor"),
    ("floor_ms", "floor ms"),
    ("of_one_row", "x one row"),
    ("one_graph_ms", "to the scores by one graph ms"),
    ("head_behind_ms", "head behind the graph ms"),
    ("gap_ms_p50", "gap ms"),
    ("gap_of_32_ms_p50", "32 tokens ms"),
    ("gap_of_12_ms_p50", "12 tokens ms"),
    ("step_ms", "step ms"),
    ("host_ms", "host ms"),
    ("tau", "tau"),
    ("tokens_s", "tokens/s"),
    ("of_autoregressive", "x autoregressive"),
    ("identical", "identical"),
    ("as_references", "as the references"),
    ("batch_ms", "batch ms"),
    ("of_requests", "x requests"),
    ("ms_a_token", "ms a token"),
    ("us", "us a step"),
    ("with_callees_us", "with callees us"),
    ("launches", "launches"),
    ("calls", "calls"),
    ("guess_us", "guess us"),
    ("best_us", "best us"),
    ("best", ""),
)


def report(body: dict[str, Any]) -> str:
    """Failures first, each with its kernel and case; then the checks in one line an op; then what was measured, beside
    the goals and what others publish.
    """
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
    judged = [words for goal in GOALS for sample in body["samples"] if (words := goal.judged(sample))]
    if any(sample.get("tau") for sample in body["samples"]):
        judged.append("tau: committed tokens, the end token included, per step of decoding, those of prefill left out")
        judged += [f"published elsewhere: {name}: {rate} tokens/s" for name, rate in ANCHORS]
    return "\n".join([*lines, *judged]) + "\n"


def _label(key: str) -> str:
    return next(label for one, label in ORDER if one == key)


def _wrong(sample: dict[str, Any]) -> str:
    known = ("name", "part", "ok", "seed")
    return ", ".join(f"{key} {value}" for key, value in sample.items() if key not in known)[:600]


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
