"""What a reader wants to know first."""

from bench.report.blocks.latency import PEER
from bench.report.blocks.typing import OURS
from bench.report.blocks.typing import PEER as VIM
from bench.report.blocks.words import LARGE, SMALL, Needed
from bench.report.page import Table, number, percent


def summary(results: Needed) -> str:
    proof = results["identity"].metrics
    same, others = round(proof["all/identical"] + proof["all/tie"]), round(proof["all/different"])
    quality, large = results[f"quality-single-line-{SMALL}-int8"], results[f"quality-single-line-{LARGE}-int4"]
    typing = results[f"replay-{SMALL}"].metrics
    neovim, vscode = results["neovim"].metrics, results["vscode"].metrics
    lines = [len(results[f"peers-{model}"].samples) for model in (SMALL, LARGE)]

    def passed(variant: str) -> str:
        return " and ".join(percent(found.get(variant, "pass_at_1")) for found in (quality, large))

    def steps(variant: str) -> str:
        return " and ".join(number(found.get(variant, "forwards_per_gap")) for found in (quality, large))

    def peer(name: str, measure: str, unit: str, what: str, contender: str = "int8 verified") -> tuple[str, str]:
        metrics = results[name].metrics
        ours, theirs = (f"{metrics[f'{who}/{measure}/median']:,.0f} {unit}" for who in (contender, PEER))
        return ours, f"{PEER} {theirs}: {what} {metrics[f'{contender}/{measure}/ratio_median']:.2f}"

    def memory() -> tuple[str, str]:
        metrics, most = results[f"peers-{SMALL}"].metrics, results[f"resident-{SMALL}"].metrics["resident_mb/max"]
        ours, theirs = (f"{metrics[f'{who}/resident_mb']:,.0f}" for who in ("int8", PEER))
        return f"{ours} and {most:,.0f} MB", f"{PEER}, one session, {theirs} MB"

    rows = [
        ("verified answers that are the autoregressive ones (float32)", f"{same:,} of {same + others:,}", ""),
        ("steps a line, 0.5B and 1.5B", steps("verified"), f"autoregressive {steps('autoregressive')}"),
        (
            f"pass@1, {len(quality.samples):,} single lines, 0.5B and 1.5B",
            passed("verified"),
            f"autoregressive {passed('autoregressive')}",
        ),
        (f"a line, prompt cached, {lines[0]} gaps", *peer(f"peers-{SMALL}", "line", "ms", "time")),
        ("a line after one more typed character", *peer(f"peers-{SMALL}", "typed", "ms", "time")),
        (
            "1,000 tokens of a new place read",
            *peer(f"peers-{SMALL}", "prefill-1000", "tokens/s", "speed", "int8 autoregressive"),
        ),
        ("a line, both held to AVX2", *peer(f"peers-{SMALL}-avx2", "line", "ms", "time")),
        (f"a line, 1.5B, {lines[1]} gaps", *peer(f"peers-{LARGE}", "line", "ms", "time", "int4 verified")),
        (
            "from a key to the engine's suggestion, and to any answer of its, shown or not",
            f"{typing[f'{OURS}/shown_p50_ms']:.0f} and {typing[f'{OURS}/warm_p50_ms']:.0f} ms",
            "",
        ),
        (
            "characters completed while lines are written",
            f"{typing[f'{OURS}/writing/completed']:.0%}, {typing[f'{OURS}/writing/right_first']:.0%} right when shown",
            f"{VIM}'s policy {typing[f'{VIM}/writing/completed']:.0%}, {typing[f'{VIM}/writing/right_first']:.0%}",
        ),
        ("resident memory, one session, and after 200 places", *memory()),
        (
            "added by Neovim 0.12 and VS Code until it is seen",
            f"{neovim['0.12/over_ms/median']:.0f} and {vscode['over_ms/median']:.0f} ms",
            f"VS Code waits {vscode['debounce_ms']:.0f} of them",
        ),
    ]
    return Table(["", "dlsp", "beside it"], rows, "").markdown()
