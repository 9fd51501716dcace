"""What the server adds, keeps and survives."""

from bench.report.blocks.words import SMALL, Needed, milliseconds, prose, ran
from bench.report.page import number


def server(results: Needed) -> str:
    metrics = results["overhead"].metrics
    added, others = (milliseconds(metrics, name, 1) for name in ("engine_ms", "others_ms"))
    return prose(
        f"What the server adds while somebody types in a file of 5,000 lines: {added} from the question to the engine "
        f"and from its answer to the editor; other requests take {others} while the engine works "
        "(`python -m bench.overhead`)."
    )


def soak(results: Needed) -> str:
    found = results["soak"]
    metrics = found.metrics
    return prose(
        f"An hour's typing replayed at once, {metrics['requests']:,.0f} questions: "
        f"{metrics['first_lap_ms/p50']:.1f} ms each when a text is typed first and {metrics['last_lap_ms/p50']:.1f} ms "
        f"when it is typed last, {metrics['memory_mb/first_tenth']:.0f} MB after a tenth and "
        f"{metrics['memory_mb/end']:.0f} MB at the end ({ran(found)})."
    )


def places(results: Needed) -> str:
    metrics = results[f"places-{SMALL}"].metrics
    return prose(
        f"Back at a place after a look at another one of the file, {metrics['back']:.0f} tokens are to be read instead "
        f"of {metrics['new']:.0f}, and the line takes {metrics['ratio']:.2f} of its first time "
        f"({metrics['files']:.0f} files; `python -m bench.places`)."
    )


def restart(results: Needed) -> str:
    metrics = results[f"restart-{SMALL}"].metrics
    size = max(int(name.split("/")[0]) for name in metrics if name.endswith("/ratio"))
    return prose(
        f"After the engine's restart the first token behind a prompt of {size:,} tokens, read from disk, takes "
        f"{metrics[f'{size}/ratio']:.1%} of the time that it took when the prompt was new (`python -m bench.restart`)."
    )


def cancel(results: Needed) -> str:
    metrics = results[f"cancel-{SMALL}"].metrics
    prefill, decoding = (milliseconds(metrics, name, 0) for name in ("prefill_ms", "decoding_ms"))
    return prose(
        f"After a cancel the engine works on for {prefill} in a prefill of 2,200 tokens and for {decoding} in "
        f"decoding; after 1,000 requests, {metrics['many/left']:.0f} of them cancelled, for "
        f"{metrics['many/busy_ms']:.0f} ms (`python -m bench.cancel`)."
    )


def faults(results: Needed) -> str:
    metrics = results["faults"].metrics
    killed, frozen = (metrics[f"again_s/{name} the engine/median"] for name in ("kill", "freeze"))
    return prose(
        f"Faults, {metrics['rounds']:.0f} rounds of ten kinds, from `kill -9` to a full disk: every request had a "
        f"suggestion or a reason within {number(metrics['answered_s/max'])} s. Another engine suggests "
        f"{number(killed)} s after one was killed and {number(frozen)} s after one was frozen (medians; "
        "`python -m bench.faults`)."
    )
