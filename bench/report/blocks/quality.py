"""How good and how equal the answers are."""

from collections.abc import Callable, Mapping

from bench.quality.paired import paired
from bench.report.blocks.words import LARGE, SMALL, Needed, listed, prose, ran
from bench.report.load import Result
from bench.report.page import Table, number, percent
from bench.report.sections.quality import interval

DRAFTS = {1: "one kind", 2: "two kinds", 3: "three kinds", 4: "four kinds", 5: "five kinds", 6: "six kinds"}
OUTCOMES = ("identical", "tie", "different")


def identity(results: Needed) -> str:
    proof = results["identity"].metrics
    same, ties, different = (round(proof[f"all/{what}"]) for what in OUTCOMES)
    kinds = len({name.split("/")[0] for name in proof if name.count("/") == 2})
    apart = f", {ties} of them up to a tie" if ties else ""
    small = results["identity-int8"]
    shipped = small.metrics
    alone = round(shipped["all/identical"]), round(sum(shipped[f"all/{what}"] for what in OUTCOMES))
    return prose(
        f"In float32, verified and autoregressive answers were the same token for token in {same + ties:,} of "
        f"{same + ties + different:,} comparisons{apart}: {proof['gaps']:.0f} real gaps, {DRAFTS[kinds]} of drafts, "
        "the worst among them, canvases of two masks, both schedules. In int8, one gap at a time: in "
        f"{alone[0]:,} of {alone[1]:,}, {shipped['gaps']:.0f} gaps ({ran(small)})."
    )


def quality(results: Needed) -> str:
    found, published = (results[f"quality-single-line-{SMALL}-int8{which}"] for which in ("", "-published"))
    several = results[f"quality-multi-line-{SMALL}-int8-100-published"]
    rows = [["nothing filled in", interval(published, "empty"), "", "", ""]]
    for result, which in ((found, ""), (published, ", as published")):
        for variant in (name for name in result.contenders if name != "empty"):
            spent = number(result.get(variant, "forwards_per_gap")), number(result.get(variant, "tau"), 2)
            label = variant.replace(":", ", threshold ") + which
            rows.append([label, interval(result, variant), *spent, percent(result.get(variant, "identical"))])
    heading = ["0.5B, int8", "pass@1", "steps a gap", "tau", "same answer as autoregressive"]
    wider = [results[f"quality-single-line-{model}-bfloat16"] for model in (SMALL, LARGE)]
    bf16, large = (interval(result, "autoregressive") for result in wider)
    drafted = results[f"quality-single-line-{LARGE}-int4"]
    same = percent(drafted.get("verified", "identical"))
    return (
        Table(heading, rows, "").markdown()
        + "\n\n"
        + prose(
            f"{against(published, found)} ({ran(found)}).\n"
            f"As published, multi-line gaps, {len(several.samples)} of them: pass@1 "
            f"{interval(several, 'autoregressive')} and {interval(several, 'verified')} verified, tau "
            f"{number(several.get('verified', 'tau'), 2)}. "
            f"Autoregressive over the same {len(wider[1].samples):,} single lines in bf16, as published: 0.5B {bf16}, "
            f"1.5B {large}. 1.5B in int4, as it ships: "
            f"autoregressive {interval(drafted, 'autoregressive')}, verified {interval(drafted, 'verified')} in "
            f"{number(drafted.get('verified', 'forwards_per_gap'))} steps, tau "
            f"{number(drafted.get('verified', 'tau'), 2)}, {same} the same answer."
        )
    )


def against(before: Result, after: Result) -> str:
    """What the gaps of two results say of each other, verified."""
    one = paired(
        *({sample["task"]: bool(sample["verified"]["pass"]) for sample in of.samples} for of in (before, after))
    )
    p = "p < 0.001" if one.p < 0.001 else f"p = {one.p:.3f}"
    return f"Against the model as published {one.won} gaps are won and {one.lost} lost of {one.gaps:,} ({p})"


def random_span(results: Needed) -> str:
    spans = results[f"quality-random-span-light-{SMALL}-int8-published"]
    diffusion = [name for name in spans.contenders if name.startswith("diffusion")]

    def each(what: str, form: Callable[[float | None], str]) -> str:
        return listed([form(spans.get(name, what)) for name in diffusion])

    return prose(
        f"Random-span-light, {len(spans.samples)} gaps, int8, as published, ended and trimmed as in the editor: "
        f"autoregressive {interval(spans, 'autoregressive')}, verified {interval(spans, 'verified')}, "
        f"{percent(spans.get('verified', 'identical'))} the same answer at tau "
        f"{number(spans.get('verified', 'tau'), 2)}; "
        f"diffusion at thresholds {listed([name.split(':')[1] for name in diffusion])}: {each('pass_at_1', percent)} "
        f"in {each('forwards_per_gap', number)} steps, where verified takes "
        f"{number(spans.get('verified', 'forwards_per_gap'))}."
    )


def dtypes(results: Needed) -> str:
    small, large = results[f"dtypes-{SMALL}"].metrics, results[f"dtypes-to-int8-{LARGE}"]

    def one(dtype: str, metrics: Mapping[str, float] = small) -> str:
        low, high = metrics[f"{dtype}/points_low"], metrics[f"{dtype}/points_high"]
        return (
            f"{percent(metrics[f'{dtype}/identical'])} of the answers are the same and pass@1 is "
            f"{metrics[f'{dtype}/points']:+.1f} points ({low:+.1f} to {high:+.1f})"
        )

    return prose(
        f"0.5B beside float32, autoregressive, {small['float32/gaps']:.0f} of these gaps: in bf16 {one('bfloat16')}, "
        f"in int8 {one('int8')}; with 7 bits an activation, where a processor has AVX2 alone, {one('int8-avx2')}. "
        f"1.5B in int4 beside int8, all {large.metrics['int8/gaps']:,.0f}: {one('int4', large.metrics)} "
        f"({ran(large)})."
    )


GAPS = {
    "multi-line": "multi-line gaps",
    "safim": "SAFIM blocks",
    "bodies": "HumanEval bodies at the end of a file",
    "followed": "bodies with two other functions behind them",
}


def pipeline(results: Needed) -> str:
    metrics = results[f"pipeline-{SMALL}"].metrics

    def one(name: str) -> str:
        raw, ours, *apart = (
            metrics[f"{name}/{what}"] for what in ("raw", "pipeline", "difference_low", "difference_high")
        )
        low, high = (f"{points:+.0f}" for points in apart)
        # No interval can be drawn where no task differs, which is no proof that none does.
        points = f"{low} to {high} points" if any(apart) else "no task differs"
        return f"{GAPS[name]} {percent(raw)} and {percent(ours)} ({points})"

    return prose(
        "The whole way, from the document to the suggestion: pass@1 of the engine alone, which sees all the text, "
        f"and through dlsp's context, ends and filters, {metrics['followed/tasks']:.0f} tasks each: "
        f"{listed([one(name) for name in GAPS])} (`python -m bench.pipeline`)."
    )
