"""How long a step, a line and an editor take, beside llama.cpp too."""

from collections.abc import Mapping, Sequence

from bench.report.blocks.words import LARGE, SMALL, Needed, prose, ran, spread
from bench.report.load import Result
from bench.report.page import Table, number

PEER = "llama.cpp"
ROWS = (
    ("prefill of 1,000 tokens", "autoregressive", "prefill-1000", "tokens/s", "speed"),
    ("autoregressive decoding, a token", "autoregressive", "decode", "ms", "speed"),
    ("a line, prompt cached, autoregressive", "autoregressive", "line", "ms", "time"),
    ("a line, prompt cached, verified", "verified", "line", "ms", "time"),
    ("the line after one more typed character", "verified", "typed", "ms", "time"),
)


def peers(results: Needed) -> str:
    return beside(results[f"peers-{SMALL}"], "0.5B", "int8", ROWS)


def large(results: Needed) -> str:
    return beside(results[f"peers-{LARGE}"], "1.5B", "int4", ROWS)


def beside(found: Result, size: str, dtype: str, wanted: Sequence[Sequence[str]]) -> str:
    """The table of one model beside llama.cpp."""
    rows = []
    for label, mode, measure, unit, what in wanted:
        cells, contender = [], f"{dtype} {mode}"
        for name in (PEER, contender):
            value = found.metrics[f"{name}/{measure}/median"]
            cells.append(f"{value:.{1 if measure == 'decode' else 0}f} {unit}")
        low, middle, high = (found.metrics[f"{contender}/{measure}/ratio_{end}"] for end in ("q1", "median", "q3"))
        rows.append([label, *cells, f"{what} {middle:.2f} ({low:.2f} to {high:.2f})"])
    rows.append(["resident memory", *(f"{found.metrics[f'{name}/resident_mb']:,.0f} MB" for name in (PEER, dtype)), ""])
    heading = [f"{size} in {dtype}, {len(found.samples)} gaps", PEER, "dlsp", "ratio (quartiles)"]
    return Table(heading, rows, "").markdown()


def avx2(results: Needed) -> str:
    metrics = results[f"peers-{SMALL}-avx2"].metrics
    prefill, decode = (metrics[f"int8 autoregressive/{what}/ratio_median"] for what in ("prefill-1000", "decode"))
    line = metrics["int8 verified/line/ratio_median"]
    return prose(
        f"Both held to AVX2 on this processor: prefill {prefill:.1f} times llama.cpp's speed, decoding {decode:.2f}, "
        f"a verified line {line:.2f} of its time (`python -m bench.peers --isa avx2`)."
    )


def modes(results: Needed) -> str:
    def of(model: str) -> str:
        metrics = results[f"decode-{model}-int8"].metrics

        def ratio(name: str) -> str:
            return number(metrics[f"{name}/ratio_median"], 2)

        low, high = (number(metrics[f"auto-copy/ratio_{end}"], 2) for end in ("q1", "q3"))
        return (
            f"verified as it ships (`auto`, copying) {ratio('auto-copy')} ({low} to {high}; tau "
            f"{number(metrics['auto-copy/tau'], 2)}; {number(metrics['auto-copy/decode_ms_median'], 0)} ms), "
            f"without copying {ratio('auto')}; split, 4 masks, copying {ratio('split-4-copy')}; merged, 2 and 3 masks, "
            f"{ratio('merged-2')} and {ratio('merged-3')}"
        )

    small = results[f"decode-{SMALL}-int8"]
    return prose(
        f"In int8, {len(small.samples)} gaps, decode time a gap against autoregressive, median of ratios. "
        f"0.5B: {of(SMALL)}. 1.5B: {of(LARGE)} ({ran(small)})."
    )


def start(results: Needed) -> str:
    found = results[f"start-{SMALL}"]
    ready, answered = (number(found.metrics[f"{name}/median"]) for name in ("ready_s", "first_answer_s"))
    return prose(
        f"The engine is ready {ready} s after its start and has answered once after {answered} s "
        f"(medians; {ran(found)})."
    )


def resident(results: Needed) -> str:
    found = [results[f"resident-{model}"] for model in (SMALL, LARGE)]
    most, idle = ([one.metrics[name] for one in found] for name in ("resident_mb/max", "idle_percent"))
    return prose(
        f"After 200 requests at 200 places the engine has held at most {most[0]:,.0f} MB (0.5B) and {most[1]:,.0f} MB "
        f"(1.5B); idle it takes {max(idle):.1f}% of a core or less ({ran(found[0])})."
    )


def editors(results: Needed) -> str:
    neovim, vscode = results["neovim"], results["vscode"]

    def over(metrics: Mapping[str, float], prefix: str = "") -> str:
        times = spread(metrics[f"{prefix}over_ms/median"], metrics[f"{prefix}over_ms/p95"], 95, 1)
        return f"{times.removesuffix(')')} of {metrics[f'{prefix}keys']:.0f} keys)"

    return prose(
        "From the key to visible ghost text, over the server's own answer time: "
        f"{over(neovim.metrics, '0.10/')} in Neovim 0.10, {over(neovim.metrics, '0.12/')} in Neovim 0.12, the "
        f"{neovim.metrics['debounce_ms']:.0f} ms that the plugin waits included ({ran(neovim)}); "
        f"{over(vscode.metrics)} in VS Code, which waits {vscode.metrics['debounce_ms']:.0f} ms of them "
        f"({ran(vscode)})."
    )
