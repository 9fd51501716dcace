"""The command: `python -m bench.peers --gaps 20`."""

import argparse
import platform
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import psutil

from bench import results
from bench.peers.child import Child, Environment
from bench.peers.llama import Llama
from bench.peers.measure import Contender, measure
from bench.peers.ours import Ours
from bench.peers.prompts import chosen, rounds
from bench.peers.side import Missing, Side
from bench.peers.summary import PEER, notes, sample, show, summary
from bench.quality.terminal import progress
from dlsp.errors import UserError
from dlsp.models import catalogue, store
from dlsp_engine.errors import EngineError
from dlsp_engine.model.convert import converted
from dlsp_engine.text.tokenizer import QwenTokenizer

RESTRICTED: dict[str, Environment] = {
    "native": {},
    "avx2": {
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    },
}
# llama.cpp waits as it does where users run it; importing our engine has set this for its own threads.
PEER_ENVIRONMENT: Environment = {"OMP_WAIT_POLICY": None, "GOMP_SPINCOUNT": None, "THP_MEM_ALLOC_ENABLE": None}


def main() -> int:
    """0 when the comparison was written, 2 for what the user has to mend, 130 when interrupted before the first gap."""
    asked = _arguments()
    try:
        with ExitStack() as stack:
            _run(asked, stack)
    except (UserError, EngineError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped: nothing was written.", file=sys.stderr)
        return 130
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench.peers", description=sys.modules["bench.peers"].__doc__)
    parser.add_argument("--gaps", type=int, default=20)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--dtypes", default="bfloat16,int8", help="of our engine, separated by commas")
    parser.add_argument("--isa", default="native", choices=RESTRICTED, help="what both sides may use, where they can")
    parser.add_argument("--out", type=Path, help="the results file, else bench/results/peers-….json")
    asked = parser.parse_args()
    if asked.gaps < 1:
        parser.error("--gaps must be at least 1.")
    if asked.isa == "avx2" and platform.machine().lower() not in ("x86_64", "amd64"):
        parser.error(f"--isa avx2 is for x86-64; this processor is {platform.machine()}.")
    return asked


def _run(asked: argparse.Namespace, stack: ExitStack) -> None:
    model = catalogue.find(asked.model)
    gguf, tasks = store.path(model), chosen(asked.gaps)
    todo = rounds(tasks, QwenTokenizer(converted(gguf, store.folder())))
    threads = psutil.cpu_count(logical=False) or 1
    contenders, missing = _contenders(gguf, asked, threads, stack)
    if not contenders:
        raise UserError("Nothing to compare: " + " ".join(missing.values()))
    measured = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with progress(f"{model.name}, {threads} threads", len(todo)) as advance:
            for replies in measure(contenders, todo):
                measured.append(replies)
                advance()
    except KeyboardInterrupt:
        if not measured:
            raise
        print(f"Stopped after {len(measured)} gaps: these count.", file=sys.stderr)
    children = {one.child.name: one.child for one in contenders}
    facts = {name: child.facts for name, child in children.items()}
    metrics = summary(measured) | {
        f"{name}/resident_mb": round(child.resident() / 1e6, 1) for name, child in children.items()
    }
    said = [*notes(facts, asked.isa), *missing.values()]
    show(f"{model.name}, {threads} threads, {asked.isa}", metrics, len(measured))
    print(*said, sep="\n")
    command = f"python -m bench.peers --gaps {asked.gaps} --model {asked.model} --dtypes {asked.dtypes}"
    path = results.write(
        f"peers-{model.name}" + ("" if asked.isa == "native" else f"-{asked.isa}"),
        f"{command} --isa {asked.isa}",
        metrics,
        [sample(one.task, replies) for one, replies in zip(todo, measured, strict=False)],
        asked.out,
        threads=threads,
        sides=facts,
        missing=missing,
        notes=said,
    )
    print(f"Written to {path}")


def _contenders(
    gguf: Path, asked: argparse.Namespace, threads: int, stack: ExitStack
) -> tuple[list[Contender], dict[str, str]]:
    """Those that take part, llama.cpp first, and of the others a sentence each."""
    ours = RESTRICTED[asked.isa]
    wanted: list[tuple[str, Environment, Callable[..., Side], object]] = [
        (PEER, PEER_ENVIRONMENT, Llama, False),
        (f"{PEER} n-gram", PEER_ENVIRONMENT, Llama, True),
        *((dtype, ours, Ours, dtype) for dtype in asked.dtypes.split(",")),
    ]
    contenders, missing = [], {}
    for name, environment, make, kind in wanted:
        try:
            child = Child(name, environment, make, gguf, kind, threads)
        except Missing as error:
            missing[name] = f"{name} does not take part: {error}"
            continue
        stack.callback(child.close)
        if make is Llama:
            contenders.append(Contender(name, child, "", plain=kind is False))
        else:
            for mode in ("autoregressive", "verified"):
                contenders.append(Contender(f"{name} {mode}", child, mode, plain=mode == "autoregressive"))
    return contenders, missing


if __name__ == "__main__":
    sys.exit(main())
