"""What a person who types is offered."""

from collections.abc import Callable, Mapping

from bench.replay.files import FILES
from bench.report.blocks.words import LARGE, SMALL, Needed, prose, ran, spread
from bench.report.load import Result
from bench.report.page import Table, percent

OURS, PEER = "dlsp", "llama.vim"
SIZES = ("0.5B", "1.5B")
PEERS = ("completed", "wrong_per_100", "late")


def replay(results: Needed) -> str:
    found = results[f"replay-{SMALL}"]
    metrics = found.metrics

    def per_100(what: str) -> str:
        return f"{metrics[f'{OURS}/all/{what}']:.1f}"

    keys = sum(len(sample["keys"]) for sample in found.samples if sample["contender"] == OURS)
    engine, shown, memory = (_taken(metrics, which) for which in ("warm", "shown", "memory"))
    return prose(
        "Replayed by the clock through the server, other programs taking "
        f"{metrics[f'{OURS}/others']:.0%} of the machine, {metrics[f'{OURS}/all/scripts']:.0f} scripts "
        "that write lines anew in held-out files or repeat real edits, "
        f"{keys:,} keys, 0.5B: {share(metrics, 'writing/completed')} of the characters completed where lines are "
        f"written, right when shown {share(metrics, 'writing/right_first')}; with the edits "
        f"{share(metrics, 'all/right_first')}, {per_100('wrong_suggestions_per_100')} wrong suggestions at 100 keys "
        f"and one visible at {per_100('wrong_per_100')} of them, quiet where quiet is right "
        f"{share(metrics, 'all/quiet')}. From the key to a suggestion of the engine {shown}, to any answer of its, "
        f"shown or not, {engine}, to one from memory {memory} ({ran(found)})."
    ) + _beside(found)


def languages(results: Needed) -> str:
    both = [results[f"replay-languages-{model}"] for model in (SMALL, LARGE)]
    metrics = both[0].metrics
    rows = [
        (
            name.title().replace("script", "Script"),
            f"{metrics[f'{OURS}/{name}/scripts']:.0f}",
            *(cell for found in both for cell in _language(found.metrics, name)),
        )
        for name in FILES
        if f"{OURS}/{name}/scripts" in metrics
    ]
    columns = [f"{size}: {what}" for size in SIZES for what in ("completed", "right", "wrong visible")]
    return "\n\n".join(
        [
            Table(["", "scripts", *columns], rows, "").markdown(),
            *(prose(f"{size}: {_of_all(found)}") for size, found in zip(SIZES, both, strict=True)),
        ]
    )


def _language(metrics: Mapping[str, float], name: str) -> tuple[str, str, str]:
    return (
        share(metrics, f"{name}/completed"),
        share(metrics, f"{name}/right_first"),
        f"{metrics[f'{OURS}/{name}/wrong_per_100']:.1f}",
    )


def _of_all(found: Result) -> str:
    metrics = found.metrics
    engine, shown, memory = (_taken(metrics, which) for which in ("warm", "shown", "memory"))
    kept, undone = (metrics[f"{OURS}/all/{what}"] for what in ("kept_30_s", "reversals_per_100_shown"))
    return (
        f"all of them, and {metrics[f'{OURS}/editing/scripts']:.0f} real edits, other programs taking "
        f"{metrics[f'{OURS}/others']:.0%} of the machine: {share(metrics, 'writing/completed')} of the characters "
        f"completed where lines are written, right when shown {share(metrics, 'all/right_first')}, a wrong one "
        f"visible at {metrics[f'{OURS}/all/wrong_per_100']:.1f} of 100 keys, quiet where quiet is right "
        f"{share(metrics, 'all/quiet')}. Of what was accepted {kept:.0%} still stands 30 seconds later; {undone:.1f} "
        f"of 100 suggestions put back what was just deleted. From the key to a suggestion of the engine {shown}, to "
        f"any answer of its {engine}, to one from memory {memory}; at {metrics[f'{OURS}/all/late']:.0%} of the keys "
        f"the next one came first ({ran(found)})."
    )


def _taken(metrics: Mapping[str, float], which: str) -> str:
    """The median of milliseconds, and the 95th or 90th percentile, if so many keys waited that long."""
    middle = metrics[f"{OURS}/{which}_p50_ms"]
    for share_below in (95, 90):
        if most := metrics.get(f"{OURS}/{which}_p{share_below}_ms"):
            return spread(middle, most, share_below, 0)
    return f"{middle:.0f} ms"


def _beside(found: Result) -> str:
    metrics = found.metrics
    (completed, wrong, late), ours = ([metrics[f"{who}/all/{what}"] for what in PEERS] for who in (PEER, OURS))
    return "\n\n" + prose(
        "Beside it llama.vim's policy on llama.cpp with the same file, the same scripts, other programs taking "
        f"{metrics[f'{PEER}/others']:.0%} of the machine: {completed:.0%} of the characters completed ({ours[0]:.0%} "
        f"by dlsp), a wrong suggestion visible at {wrong:.1f} of 100 keys ({ours[1]:.1f}); at {late:.0%} of the keys "
        f"the next one came first ({ours[2]:.0%}): on two cores its window is too large for typing."
    )


def share(metrics: Mapping[str, float], name: str) -> str:
    whole, low, high = (metrics[f"{OURS}/{name}{end}"] for end in ("", "_low", "_high"))
    return f"{whole:.0%} ({100 * low:.0f} to {100 * high:.0f})"


def closers(results: Needed) -> str:
    found = results[f"closers-{SMALL}"]
    metrics = found.metrics

    def both(value: Callable[[str], str]) -> str:
        return f"{value('replaced')} (inserted before them {value('inserted')})"

    shown = both(lambda way: f"{metrics[f'{way}/shown']:.0f}")
    right = both(lambda way: f"{metrics[f'{way}/precision']:.0%}")
    completed = both(lambda way: f"{metrics[f'{way}/characters'] / metrics['left']:.0%}")
    whole = both(lambda way: f"{metrics[f'{way}/whole']:.0f}")
    return prose(
        f"At {metrics['places']:.0f} keys behind which an editor has put closing brackets or quotes, in lines of "
        f"packages that no training saw, suggestions that replace these are shown at {shown}; {right} of them are "
        f"right; they complete {completed} of what is still to be written in these lines, and make {whole} lines whole "
        f"({ran(found)})."
    )


def cross_file(results: Needed) -> str:
    found = results[f"cross-file-{SMALL}"]
    metrics = found.metrics
    seen, unseen = (percent(metrics[f"{name}/exact"]) for name in ("with other files", "without"))
    return prose(
        f"Gaps that need a name of another file, {metrics['gaps']:.0f} in installed packages: the first line is right "
        f"in {seen} with what dlsp shows of other files, in {unseen} without (ratio {metrics['ratio']:.1f}, "
        f"{metrics['ratio_low']:.1f} to {metrics['ratio_high']:.1f}; {ran(found)})."
    )


def context(results: Needed) -> str:
    metrics = results["context"].metrics
    alone, meanwhile = (f"{metrics[f'{name}_p95_ms']:.0f}" for name in ("keystroke", "keystroke_while_indexing"))
    return prose(
        f"{metrics['files']:,.0f} files are indexed in {metrics['index_seconds']:.0f} s, with at most "
        f"{metrics['index_peak_mb']:.0f} MB; a key in a file of {metrics['lines']:,.0f} lines takes the parser {alone} "
        f"ms (95th percentile), {meanwhile} meanwhile; choosing a whole context takes "
        f"{metrics['context_p50_ms']:.0f} ms (median; `python -m bench.context`)."
    )
