"""Keystrokes to numbers: shares with 95% intervals, times from key to suggestion, ratios to the baseline."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.replay.contender import Work
from bench.replay.scripts import Script
from bench.replay.user import Keystroke

RESAMPLES = 10_000
# Metric: which count by which other one, times what. A suggestion is counted where it appears (`shown`, `right`,
# `wrong`, `used` where something of it is taken there), and at every key at which it, or what is left of it, is visible
# (`…_keys`; `in_the_way_keys`: and nothing of it is taken). Who takes whole lines alone uses all that is right.
SHARES: dict[str, tuple[str, str, float]] = {
    "completed": ("accepted", "characters", 1),
    "keys_saved": ("saved", "characters", 1),
    "right_first": ("right", "shown", 1),
    "used_first": ("used", "shown", 1),
    "right_whole": ("whole", "shown", 1),
    "right_visible": ("right_keys", "visible_keys", 1),
    "wrong_per_100": ("wrong_keys", "keys", 100),
    "in_the_way_per_100": ("in_the_way_keys", "keys", 100),
    "wrong_suggestions_per_100": ("wrong", "keys", 100),
    "shown_per_100": ("shown", "keys", 100),
    "quiet": ("quiet", "quiet_places", 1),
    "quiet_strict": ("quiet_strict", "quiet_places", 1),
    "quiet_delete": ("quiet_delete", "delete_places", 1),
    "quiet_move": ("quiet_move", "move_places", 1),
    "quiet_newline": ("quiet_newline", "newline_places", 1),
    "saved_per_minute": ("saved", "milliseconds", 60_000),
    "kept_30_s": ("kept_s", "taken", 1),
    "kept_50_keys": ("kept_keys", "taken", 1),
    "reversals_per_100_shown": ("reversals", "shown", 100),
    "from_memory": ("memory_keys", "visible_keys", 1),
    "late": ("late", "keys", 1),
    "forwards_per_100": ("forwards", "keys", 100),
    "prompt_tokens_per_100": ("prompt_tokens", "keys", 100),
}
RATIOS = ("completed", "wrong_per_100")
QUANTILES = (50, 90, 95, 99)
# So many keys must still wait where a quantile is read, if others were cut short before: among fewer it is what the
# last of them happened to take.
FEWEST = 10
# No engine answers in less, and no silence without one takes as long.
ASKED_S = 0.02


@dataclass(frozen=True)
class Played:
    """One script, played to the end. `others` is the share of the machine that other programs used meanwhile."""

    script: Script
    keystrokes: Sequence[Keystroke]
    work: Work
    others: float


def summary(played: Mapping[str, Sequence[Played]], baseline: str) -> dict[str, float]:
    """`CONTENDER/KIND/METRIC` and, of what is written, `CONTENDER/LANGUAGE/METRIC`, with `_low` and `_high`; ratios to
    the baseline, where it took part, as `…_ratio`."""
    metrics: dict[str, float] = {}
    for name, of in played.items():
        for kind, chosen in _kinds(of).items():
            own = shares(chosen) | first_right(chosen) | {"scripts": len(chosen)}
            metrics |= {f"{name}/{kind}/{what}": value for what, value in own.items()}
        metrics |= {f"{name}/{what}": value for what, value in times(of).items()}
        metrics[f"{name}/others"] = float(np.mean([one.others for one in of]))
    for name in played.keys() - {baseline} if baseline in played else ():
        metrics |= {f"{name}/{what}": value for what, value in ratios(played[name], played[baseline]).items()}
        mine, theirs = (metrics.get(f"{each}/warm_p50_ms") for each in (name, baseline))
        if mine and theirs:
            metrics[f"{name}/warm_p50_ratio"] = mine / theirs
    return {name: round(value, 4) for name, value in metrics.items()}


def _kinds(played: Sequence[Played]) -> dict[str, list[Played]]:
    """All, those of each kind, and those of each language in which something is written; none is empty."""
    found: dict[str, list[Played]] = defaultdict(list)
    for one in played:
        for kind in ("all", one.script.kind, one.script.language if one.script.kind == "writing" else ""):
            if kind:
                found[kind].append(one)
    return found


def counts(one: Played) -> Counter[str]:
    """What happened in one script."""
    sums: Counter[str] = Counter(characters=one.script.characters, keys=len(one.keystrokes))
    sums["forwards"], sums["prompt_tokens"] = one.work.forwards, one.work.prompt_tokens
    for keystroke in one.keystrokes:
        visible = keystroke.text is not None
        wrong = visible and not keystroke.right
        taken = (keystroke.text or "")[: keystroke.accepted]
        sums["accepted"] += sum(len(line.lstrip(" \t")) if n else len(line) for n, line in enumerate(taken.split("\n")))
        sums["accepted"] += taken.count("\n")
        sums["milliseconds"] += round(1000 * keystroke.wait_s)
        if keystroke.kept_s is not None and keystroke.kept_keys is not None:
            sums.update({"taken": keystroke.accepted, "kept_s": keystroke.kept_s, "kept_keys": keystroke.kept_keys})
        sums.update({"visible_keys": visible, "right_keys": keystroke.right, "wrong_keys": wrong})
        sums["in_the_way_keys"] += visible and not keystroke.accepted
        sums.update({"memory_keys": visible and keystroke.memory, "late": keystroke.took_s is None})
        if visible and not keystroke.again:
            sums.update({"shown": 1, "right": keystroke.right, "whole": keystroke.whole, "wrong": wrong})
            sums["used"] += keystroke.accepted > 0
            sums["reversals"] += keystroke.reverses
        if keystroke.next != "type":
            kept = not wrong if keystroke.next == "newline" else not visible
            places = {"quiet_places": 1, f"{keystroke.next}_places": 1}
            sums.update(places | {"quiet": kept, f"quiet_{keystroke.next}": kept, "quiet_strict": not visible})
    sums["saved"] = sums["accepted"] - sum(keystroke.accepted > 0 for keystroke in one.keystrokes)
    return sums


def first_right(played: Sequence[Played]) -> dict[str, float]:
    """Seconds from where something is to be written at a place until the first right suggestion there."""
    seen: list[tuple[float, bool]] = []
    for one in played:
        elapsed, found = 0.0, True  # nothing is looked for before a place
        for keystroke in one.keystrokes:
            if keystroke.after == "start":
                seen += [] if found else [(elapsed, False)]
                elapsed, found = 0.0, not keystroke.left
            elif found and keystroke.after == "delete" and keystroke.left:
                elapsed, found = 0.0, False
            if not found and keystroke.right:
                seen.append((elapsed + (keystroke.took_s or 0.0), True))
                found = True
            elapsed += keystroke.wait_s
        seen += [] if found else [(elapsed, False)]
    return {"first_right_p50_s": value} if (value := quantile(seen, 0.5)) is not None else {}


def shares(played: Sequence[Played]) -> dict[str, float]:
    names, drawn = _drawn(played)
    metrics = {}
    for what, (above, below, scale) in SHARES.items():
        values = _by(drawn[:, names.index(above)], drawn[:, names.index(below)]) * scale
        if not np.isnan(values[0]):
            low, high = np.nanpercentile(values[1:], (2.5, 97.5))
            metrics |= {what: float(values[0]), f"{what}_low": float(low), f"{what}_high": float(high)}
    return metrics


def ratios(mine: Sequence[Played], theirs: Sequence[Played]) -> dict[str, float]:
    """Of the scripts that both played; whole groups are drawn, the same for both."""
    both = {one.script.id for one in mine} & {one.script.id for one in theirs}
    sides = [_drawn([one for one in of if one.script.id in both]) for of in (mine, theirs)] if both else []
    metrics = {}
    for what in RATIOS if both else ():
        above, below, _ = SHARES[what]
        own, other = (_by(drawn[:, names.index(above)], drawn[:, names.index(below)]) for names, drawn in sides)
        values = _by(own, other)
        if not np.isnan(values[0]):
            low, high = np.nanpercentile(values[1:], (2.5, 97.5))
            metrics |= {f"{what}_ratio": float(values[0]), f"{what}_ratio_low": float(low)}
            metrics[f"{what}_ratio_high"] = float(high)
    return metrics


def times(played: Sequence[Played]) -> dict[str, float]:
    """Milliseconds from key to answer: `cold` at a place's keys until the engine has answered there for the first time,
    as it has the prompt to read, `warm` at the others, and from `memory`; `shown` are the warm ones that were shown.

    An answer of the engine that is not shown is one too. Where the next key came first, how long it would have taken is
    not known but to be more: quantiles are Kaplan and Meier's, and missing where too few were seen for them.
    """
    seen: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for one in played:
        engine = "cold"
        for keystroke in one.keystrokes:
            if keystroke.after == "start":
                engine = "cold"
            if keystroke.took_s is None:
                seen[engine].append((keystroke.wait_s, False))
            elif keystroke.memory:
                seen["memory"].append((keystroke.took_s, True))
            elif keystroke.text is not None or keystroke.took_s >= ASKED_S:
                seen[engine].append((keystroke.took_s, True))
                if engine == "warm" and keystroke.text is not None:
                    seen["shown"].append((keystroke.took_s, True))
                engine = "warm"
    metrics = {}
    for which, of in seen.items():
        for percent in QUANTILES:
            if (value := quantile(of, percent / 100)) is not None:
                metrics[f"{which}_p{percent}_ms"] = 1e3 * value
        metrics[f"{which}_number"] = len(of)
    return metrics


def quantile(times: Sequence[tuple[float, bool]], share: float) -> float | None:
    """Kaplan and Meier's quantile of (time, whether it is one or only a lower bound); None where it is not reached, or
    among too few.
    """
    surviving, left, cut_short = 1.0, len(times), False
    for time, happened in sorted(times, key=lambda one: (one[0], not one[1])):
        if happened:
            surviving *= 1 - 1 / left
            if surviving <= 1 - share + 1e-12:
                return None if cut_short and left < FEWEST else time
        cut_short |= not happened
        left -= 1
    return None


def _drawn(played: Sequence[Played]) -> tuple[list[str], np.ndarray]:
    """Sums of all counts, first as they are, then with groups drawn again: [1 + RESAMPLES, counts]."""
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for one in played:
        groups[one.script.group].update(counts(one))
    names = sorted({name for above, below, _ in SHARES.values() for name in (above, below)})
    table = np.array([[groups[group][name] for name in names] for group in sorted(groups)], dtype=float)
    weights = np.random.default_rng(0).multinomial(len(table), [1 / len(table)] * len(table), RESAMPLES)
    return names, np.vstack([table.sum(0), weights @ table])


def _by(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below != 0)
