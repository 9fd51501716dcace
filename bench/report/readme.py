"""The README's numbers: `python -m bench.report.readme` writes them between their markers, `--check` compares.

A block stands between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->`; all text in it comes from here.
"""

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.report.load import Result, Results, load
from bench.report.page import Table, number, percent
from bench.report.sections.quality import interval
from dlsp.errors import UserError

README = Path(__file__).parents[2] / "README.md"
MACHINE = "epyc-2c"
SMALL, LARGE = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"
DRAFTS = {1: "one kind", 2: "two kinds", 3: "three kinds", 4: "four kinds", 5: "five kinds", 6: "six kinds"}


class Needed:
    """The results, where a missing one is an error that says which."""

    def __init__(self, results: Results) -> None:
        self._results = results

    def __getitem__(self, name: str) -> Result:
        if (found := self._results.one(name)) is None:
            raise UserError(f"The README needs bench/results/{name}-{self._results.machine}.json: run its bench again.")
        return found


def identity(results: Needed) -> str:
    proof = results["identity"].metrics
    same, ties, different = (round(proof[f"all/{what}"]) for what in ("identical", "tie", "different"))
    kinds = len({name.split("/")[0] for name in proof if name.count("/") == 2})
    apart = f", {ties} of them up to a tie" if ties else ""
    return prose(
        f"In float32, verified and autoregressive answers were the same token for token in {same + ties:,} of "
        f"{same + ties + different:,} comparisons{apart}: {proof['gaps']:.0f} real gaps, {DRAFTS[kinds]} of drafts, "
        "the worst among them, both schedules."
    )


def quality(results: Needed) -> str:
    small = results[f"quality-single-line-{SMALL}-bfloat16"]
    int8 = results[f"quality-single-line-{SMALL}-int8"]
    large = results[f"quality-single-line-{LARGE}-bfloat16"]
    rows = [["nothing filled in", interval(small, "empty"), "", "", ""]]
    for label, result, variant in (
        ("0.5B autoregressive, bf16", small, "autoregressive"),
        ("0.5B autoregressive, int8 (default)", int8, "autoregressive"),
        ("0.5B verified, int8 (default)", int8, "verified"),
        *(
            (f"0.5B diffusion, bf16, threshold {name.split(':')[1]}", small, name)
            for name in small.contenders
            if name.startswith("diffusion")
        ),
        ("1.5B autoregressive, bf16", large, "autoregressive"),
    ):
        spent = number(result.get(variant, "forwards_per_gap")), number(result.get(variant, "tau"), 2)
        rows.append([label, interval(result, variant), *spent, percent(result.get(variant, "identical"))])
    heading = ["", "pass@1", "steps a gap", "tau", "same answer as autoregressive"]
    return Table(heading, rows, "").markdown()


def random_span(results: Needed) -> str:
    spans = results[f"quality-random-span-light-{SMALL}-bfloat16"]
    diffusion = [name for name in spans.contenders if name.startswith("diffusion")]

    def each(what: str, form: Callable[[float | None], str]) -> str:
        return listed([form(spans.get(name, what)) for name in diffusion])

    return prose(
        f"Random-span-light, {len(spans.samples)} gaps, bf16, ended and trimmed as in the editor: autoregressive "
        f"{interval(spans, 'autoregressive')}, verified {interval(spans, 'verified')}, "
        f"{percent(spans.get('verified', 'identical'))} the same answer at tau "
        f"{number(spans.get('verified', 'tau'), 2)}; "
        f"diffusion at thresholds {listed([name.split(':')[1] for name in diffusion])}: {each('pass_at_1', percent)} "
        f"in {each('forwards_per_gap', number)} steps, where verified takes "
        f"{number(spans.get('verified', 'forwards_per_gap'))}."
    )


PEER = "llama.cpp"
ROWS = (
    ("prefill of 1,000 tokens", "int8 autoregressive", "prefill-1000", "tokens/s", "speed"),
    ("autoregressive decoding, a token", "int8 autoregressive", "decode", "ms", "speed"),
    ("a line, prompt cached, autoregressive", "int8 autoregressive", "line", "ms", "time"),
    ("a line, prompt cached, verified", "int8 verified", "line", "ms", "time"),
    ("the line after one more typed character", "int8 verified", "typed", "ms", "time"),
)


def peers(results: Needed) -> str:
    return beside(results[f"peers-{SMALL}"], "0.5B", ROWS)


def large(results: Needed) -> str:
    """Without an adapter there is nothing but repeated text to draft from."""
    found = results[f"peers-{LARGE}"]
    copying = [
        (label.replace("verified", "copying"), "int8 autoregressive n-gram", *rest) for label, _, *rest in ROWS[3:]
    ]
    return beside(found, "1.5B", (*ROWS[:3], *copying))


def beside(found: Result, size: str, wanted: Sequence[Sequence[str]]) -> str:
    """The table of one model beside llama.cpp."""
    rows = []
    for label, contender, measure, unit, what in wanted:
        cells = []
        for name in (PEER, contender):
            value = found.metrics[f"{name}/{measure}/median"]
            cells.append(f"{value:.{1 if measure == 'decode' else 0}f} {unit}")
        low, middle, high = (found.metrics[f"{contender}/{measure}/ratio_{end}"] for end in ("q1", "median", "q3"))
        rows.append([label, *cells, f"{what} {middle:.2f} ({low:.2f} to {high:.2f})"])
    rows.append(
        ["resident memory", *(f"{found.metrics[f'{name}/resident_mb']:,.0f} MB" for name in (PEER, "int8")), ""]
    )
    return Table([f"{size}, {len(found.samples)} gaps", PEER, "dlsp", "ratio (quartiles)"], rows, "").markdown()


def avx2(results: Needed) -> str:
    metrics = results[f"peers-{SMALL}-avx2"].metrics
    prefill, decode = (metrics[f"int8 autoregressive/{what}/ratio_median"] for what in ("prefill-1000", "decode"))
    line = metrics["int8 verified/line/ratio_median"]
    return prose(
        f"On processors with AVX2 alone: prefill {prefill:.1f} times llama.cpp's speed, decoding {decode:.2f}, "
        f"a verified line {line:.1f} times its time."
    )


def modes(results: Needed) -> str:
    found = results[f"decode-{SMALL}-int8"]
    metrics = found.metrics

    def ratio(name: str) -> str:
        return number(metrics[f"{name}/ratio_median"], 2)

    low, high = (number(metrics[f"auto-copy/ratio_{end}"], 2) for end in ("q1", "q3"))
    return prose(
        f"**Modes** in int8, {len(found.samples)} gaps, decode time a gap against autoregressive, median of ratios: "
        f"verified as it ships (`auto`, copying) {ratio('auto-copy')} ({low} to {high}; tau "
        f"{number(metrics['auto-copy/tau'], 2)}), without copying {ratio('auto')}; split, 4 masks, copying "
        f"{ratio('split-4-copy')}; merged, 2 and 3 masks, {ratio('merged-2')} and {ratio('merged-3')}."
    )


def start(results: Needed) -> str:
    metrics = results[f"start-{SMALL}"].metrics
    ready, answered = (number(metrics[f"{name}/median"]) for name in ("ready_s", "first_answer_s"))
    return prose(f"The engine is ready {ready} s after its start and has answered once after {answered} s.")


def resident(results: Needed) -> str:
    small, large = (results[f"resident-{model}"].metrics for model in (SMALL, LARGE))
    most, idle = ([metrics[name] for metrics in (small, large)] for name in ("resident_mb/max", "idle_percent"))
    return prose(
        f"After 200 requests at 200 places the engine has held at most {most[0]:,.0f} MB (0.5B) and {most[1]:,.0f} MB "
        f"(1.5B); idle it takes {max(idle):.1f}% of a core or less."
    )


def dtypes(results: Needed) -> str:
    metrics = results[f"dtypes-{SMALL}"].metrics

    def one(dtype: str) -> str:
        low, high = metrics[f"{dtype}/points_low"], metrics[f"{dtype}/points_high"]
        return (
            f"{percent(metrics[f'{dtype}/identical'])} of the answers are the same and pass@1 is "
            f"{metrics[f'{dtype}/points']:+.1f} points ({low:+.1f} to {high:+.1f})"
        )

    return prose(
        f"Beside float32, autoregressive, {metrics['float32/gaps']:.0f} of these gaps: in bf16 {one('bfloat16')}, in "
        f"int8 {one('int8')}."
    )


def editors(results: Needed) -> str:
    metrics = results["neovim"].metrics

    def over(version: str) -> str:
        middle, most = (number(metrics[f"{version}/over_ms/{name}"]) for name in ("median", "p95"))
        return f"{middle} ms (95th percentile {most})"

    return prose(
        f"From the key to visible ghost text, over the server's own answer time: {over('0.10')} in Neovim 0.10, "
        f"{over('0.12')} in Neovim 0.12, the {metrics['debounce_ms']:.0f} ms that the plugin waits included "
        "(`python -m bench.neovim`)."
    )


BLOCKS: dict[str, Callable[[Needed], str]] = {
    "identity": identity,
    "quality": quality,
    "dtypes": dtypes,
    "random-span": random_span,
    "peers": peers,
    "large": large,
    "avx2": avx2,
    "modes": modes,
    "start": start,
    "editors": editors,
    "resident": resident,
}


def prose(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 120, break_on_hyphens=False, break_long_words=False)


def listed(texts: list[str]) -> str:
    return ", ".join(texts[:-1]) + f" and {texts[-1]}" if len(texts) > 1 else "".join(texts)


def filled(readme: str, results: Results) -> str:
    """The README with every block as the results have it; UserError for a block that is not there or not known."""
    needed = Needed(results)
    marked = re.findall(r"<!-- bench:([\w-]+) -->", readme)
    if set(marked) != BLOCKS.keys() or len(marked) != len(BLOCKS):
        raise UserError(f"README.md must have one pair of markers for each of {', '.join(BLOCKS)}; it has {marked}.")
    for name, block in BLOCKS.items():
        pattern = re.compile(rf"(<!-- bench:{name} -->\n).*?(\n<!-- /bench:{name} -->)", re.DOTALL)
        text = block(needed)
        readme, found = pattern.subn(lambda match, text=text: match[1] + text + match[2], readme)
        if found != 1:
            raise UserError(f"README.md has no `<!-- /bench:{name} -->` after its beginning.")
    return readme


def main(arguments: list[str] | None = None) -> int:
    """0; 1 where `--check` finds a difference, 2 for what the user has to mend."""
    parser = argparse.ArgumentParser("python -m bench.report.readme", description="The README's numbers.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 where they differ")
    asked = parser.parse_args(arguments)
    try:
        now = README.read_text(encoding="utf-8")
        new = filled(now, load(machine=MACHINE))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    if asked.check and new != now:
        print("README.md differs from bench/results: run `python -m bench.report.readme`.", file=sys.stderr)
        return 1
    if not asked.check:
        README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
