"""What the long proofs measured: hostile input, a day of use, and what an installation takes."""

from bench.report.blocks.words import Needed, prose, ran
from bench.report.page import number


def proofs(results: Needed) -> str:
    workspaces, documents, crowd = (results[f"prove-{name}"].metrics for name in ("hostile", "rehearsal", "crowd"))
    return prose(
        f"In {workspaces['passed']:.0f} hostile workspaces there is a suggestion in another file within "
        f"{workspaces['suggestion_s/max']:.1f} s, and `shutdown` is answered within {workspaces['shutdown_s/max']:.2f} "
        f"s. Of {documents['documents/max']:,.0f} hostile documents none ends the server, and each holds up the others "
        f"for at most {documents['wait_s/max']:.2f} s. Beside 10,000 half-open connections the engine answers within "
        f"{crowd['answer_s/max']:.1f} s, and its log has {crowd['log_bytes/max']:,.0f} bytes (`make prove`, on a busy "
        "machine)."
    )


def day(results: Needed) -> str:
    found = results["day-24h"]
    metrics = found.metrics
    server, later, parser, parser_later = (
        f"{metrics[f'{process}/memory_mb/{quarter}_quarter']:.0f}"
        for process in ("server", "dlsp.syntax")
        for quarter in ("second", "last")
    )
    real = results["day-8h-real"]
    engine, engine_later = (
        f"{real.metrics[f'engine/memory_mb/{quarter}_quarter']:.0f}" for quarter in ("second", "last")
    )
    return prose(
        f"24 hours of mixed use in virtual time, {metrics['done/keys']:,.0f} keys: {metrics['lost']:.0f} requests "
        f"without an answer. In the second quarter the server takes {server} MB and its parser {parser} MB, in "
        f"the last {later} and {parser_later} MB ({ran(found)}). Eight hours of keys in real time, pauses cut, with "
        f"the real engine, {real.metrics['done/keys']:,.0f} keys: {real.metrics['lost']:.0f} requests without an "
        f"answer, {real.metrics['grown']:.0f} curves of memory, descriptors, threads or files that rise; the engine's "
        f"own memory is {engine} MB in the second quarter and {engine_later} MB in the last ({ran(real)})."
    )


def sizes(results: Needed) -> str:
    metrics = results["prove-install"].metrics
    local, model = (f"{number(metrics[f'{name}_mb/max'] / 1000)} GB" for name in ("local", "model"))
    return prose(
        f"dlsp takes {local} [with the CPU build of PyTorch](docs/install.md#the-cpu-build-of-pytorch), 5.9 GB with "
        f"the CUDA build, which `pipx` installs on Linux. The model takes {model} more."
    )
