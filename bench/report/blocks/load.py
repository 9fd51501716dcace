"""What long prompts, many clients and constraints cost."""

from bench.report.blocks.words import SMALL, Needed, listed, prose, ran
from bench.report.load import Result


def prefill(results: Needed) -> str:
    found = results[f"prefill-{SMALL}"]
    metrics = found.metrics
    sizes = sorted(int(name.split("/")[0]) for name in metrics if name.endswith("/dlsp/s"))
    speeds = listed([f"{metrics[f'{size}/speed']:.1f}" for size in sizes])
    return prose(
        f"Prompts of {listed([f'{size:,}' for size in sizes])} tokens are read at {speeds} times llama.cpp's speed, "
        f"by turns with its wheel ({ran(found)}). The first takes {metrics[f'{sizes[0]}/dlsp/s']:.1f} s, the last "
        f"{metrics[f'{sizes[-1]}/dlsp/s']:.0f} s."
    )


def crowd(results: Needed) -> str:
    fair, long, mixed = (results[f"{name}-{SMALL}"] for name in ("fairness", "long-string", "traffic"))
    return prose(f"{_fair(fair)} {_drawn(results[f'sampling-{SMALL}-int8'])} {_long(long)} {_mixed(mixed)}")


def _fair(found: Result) -> str:
    ratio = found.metrics["ratio/first_ms/p95"]
    return (
        f"Beside 64 gaps that another client asked for at once, a keystroke's first answer comes within {ratio:.2f} "
        f"times its time alone (95th percentile; {ran(found)})."
    )


def _drawn(found: Result) -> str:
    plain, verified = (found.metrics[f"{mode}/0.8/per_token_to_greedy"] for mode in ("autoregressive", "verified"))
    return (
        f"At temperature 0.8 a token takes {plain:.2f} times as long as at temperature 0, in `verified` mode "
        f"{verified:.2f} times, as drafts are right less often ({ran(found)})."
    )


def _long(found: Result) -> str:
    metrics = found.metrics
    return (
        f"In a string of {metrics['lines']:.0f} lines, what is done in Python takes "
        f"{metrics['first_50_lines/python_ms/median']:.1f} ms a step in the first 50 lines and "
        f"{metrics['last_50_lines/python_ms/median']:.1f} ms in the last ({ran(found)})."
    )


def _mixed(found: Result) -> str:
    metrics = found.metrics
    growth, slowdown = metrics["memory/growth"] - 1, metrics["typing_ms/slowdown"]
    return (
        f"Two hours' traffic of four clients, replayed at once, {metrics['requests']:,.0f} requests, some left, "
        f"malformed or too long: {metrics['lost']:.0f} without an answer or a reason, the engine's own memory "
        f"{growth:+.1%} from the second quarter to the last, typing's 95th percentile in the second half "
        f"{slowdown:.2f} of that in the first ({ran(found)})."
    )


def constraints(results: Needed) -> str:
    found, hostile = results[f"constraints-{SMALL}-int8"], results[f"constraints-hostile-{SMALL}"]
    proof = results["prove-constrained_decoding"].metrics
    json, regex = (found.metrics[f"verified/{kind}/constraint_share_of_step_p95"] for kind in ("json_schema", "regex"))
    tau, refused = found.metrics["verified/json_schema/tau/bound_to_told"], hostile.metrics
    return prose(
        f"A JSON schema takes {json:.1%} of a step and a regular expression {regex:.1%} (95th percentile), and is "
        f"compiled in {found.metrics['compiled_ms_median']:.1f} ms; with a schema tau is {tau:.2f} times what it is "
        f"without on the same texts ({ran(found)}). Grammars made to do harm are refused within "
        f"{refused['refused_ms/max']:.0f} ms; a line that is asked for meanwhile takes {refused['beside_ms/p99']:.0f} "
        f"ms (99th percentile), {refused['alone_ms/p99']:.0f} ms alone ({ran(hostile)}). In all "
        f"{proof['tests'] * proof['cases/max']:.0f} drawn cases a verified answer is the autoregressive one and an "
        "independent checker accepts it (`make prove PART=constraints`)."
    )
