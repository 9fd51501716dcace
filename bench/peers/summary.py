"""Replies to numbers: medians with quartiles, ratios gap by gap, the table."""

import statistics
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from bench.peers.contenders import NGRAM, PEER
from bench.peers.measure import MEASURES, Replies
from bench.spread import quartiles


def summary(measured: Sequence[Replies]) -> dict[str, float]:
    """`CONTENDER/MEASURE/…`: q1, median, q3; against llama.cpp, where it took part, the same of the ratio, and of the
    ratio to llama.cpp with n-gram drafts.

    Where lines were asked: `same`, the share of equal texts, and the ratio over the gaps with equal texts alone.
    """
    metrics: dict[str, float] = {}
    for name in measured[0]:
        what = MEASURES[name]
        for contender in measured[0][name]:
            own = [replies[name][contender] for replies in measured]
            metrics |= quartiles(f"{contender}/{name}/", [what.value(reply) for reply in own])
            if contender == PEER or PEER not in measured[0][name]:
                continue
            peer = [replies[name][PEER] for replies in measured]
            pairs = list(zip(own, peer, strict=True))
            ratios = [what.ratio(what.value(mine), what.value(theirs)) for mine, theirs in pairs]
            metrics |= quartiles(f"{contender}/{name}/ratio_", ratios)
            if NGRAM in measured[0][name] and contender != NGRAM:
                drafting = [what.value(replies[name][NGRAM]) for replies in measured]
                times = zip(own, drafting, strict=True)
                metrics |= quartiles(
                    f"{contender}/{name}/ngram_ratio_", [what.ratio(what.value(a), b) for a, b in times]
                )
            if what.all:
                same = [mine.text == theirs.text for mine, theirs in pairs]
                metrics[f"{contender}/{name}/same"] = statistics.mean(same)
                if any(same):
                    alike = [ratio for ratio, equal in zip(ratios, same, strict=True) if equal]
                    metrics |= quartiles(f"{contender}/{name}/same_ratio_", alike)
    return {name: round(value, 4) for name, value in metrics.items()}


def sample(task: str, replies: Replies) -> dict[str, object]:
    """One gap: of each reply its milliseconds, its tokens, the prompt's and how many of those were cached."""
    numbers = {
        name: {
            contender: [round(one.milliseconds, 1), one.tokens, one.prompt, one.cached]
            for contender, one in taken.items()
        }
        for name, taken in replies.items()
    }
    return {"task": task, **numbers}


def notes(facts: Mapping[str, Mapping[str, str]], isa: str) -> list[str]:
    """What a reader must know about the instruction sets of both sides to judge the ratios."""
    isas = {name: of["isa"].upper() for name, of in facts.items()}
    if PEER not in isas:
        return []
    wide = "AVX512" in isas[PEER]
    if isa == "avx2":
        if wide:
            return ["llama.cpp could not be restricted to AVX2: its build chooses nothing at run time."]
        return ["Both sides have AVX2: ours is restricted to it, llama.cpp is built for it."]
    if not wide and any("AVX512" in own for own in isas.values()):
        build = f"`pip install --force-reinstall --no-deps --no-binary xllamacpp xllamacpp=={facts[PEER]['version']}`"
        return [f"llama.cpp's wheel is built for AVX2; a build for this machine is faster: {build}."]
    return []


def show(title: str, metrics: Mapping[str, float], gaps: int) -> None:
    table = Table("measure", "contender", title=f"{title}, {gaps} gaps: medians (quartiles)", title_justify="left")
    for heading in ("value", "to llama.cpp", "wanted", "same text", "to llama.cpp there"):
        table.add_column(heading, justify="right")
    for name, what in MEASURES.items():
        contenders = [key.split("/")[0] for key in metrics if key.endswith(f"/{name}/median")]
        for at, contender in enumerate(contenders):
            own = contender != PEER and f"{contender}/{name}/ratio_median" in metrics
            table.add_row(
                f"{name}, {what.unit}" if at == 0 else "",
                contender,
                _cell(metrics, f"{contender}/{name}/", 1 if what.unit != "tokens/s" else 0),
                _cell(metrics, f"{contender}/{name}/ratio_", 2),
                what.wanted if own and not contender.startswith(PEER) else "",
                f"{metrics[f'{contender}/{name}/same']:.0%}" if own and what.all else "",
                _cell(metrics, f"{contender}/{name}/same_ratio_", 2),
                end_section=at == len(contenders) - 1,
            )
    for key, value in metrics.items():
        if key.endswith("/resident_mb"):
            table.add_row("memory, MB", key.split("/")[0], f"{value:.0f}")
    out = Console()
    out.width = max(out.width, 140)
    out.print(table)


def _cell(metrics: Mapping[str, float], key: str, digits: int) -> str:
    """Empty where there is no such number."""
    if f"{key}median" not in metrics:
        return ""
    low, middle, high = (metrics[f"{key}{which}"] for which in ("q1", "median", "q3"))
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
