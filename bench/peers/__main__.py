"""The command: `python -m bench.peers`."""

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

import psutil

from bench.command import at_least, guarded, until_stopped, weights_cache, written
from bench.peers.contenders import RESTRICTED, Field, isa_fault
from bench.peers.measure import MEASURES, measure
from bench.peers.prompts import chosen, rounds
from bench.peers.summary import notes, sample, show, summary
from dlsp.models import catalogue, store
from dlsp_engine.model.convert import converted
from dlsp_engine.text.tokenizer import ModelTokenizer


@guarded()
def main() -> int:
    """0 when the comparison was written, 2 for what the user has to mend, 130 when interrupted before the first gap."""
    asked = _arguments()
    with ExitStack() as stack:
        return _run(asked, stack)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench.peers", description=sys.modules["bench.peers"].__doc__)
    parser.add_argument("--gaps", type=at_least(1), default=12)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--gguf", type=Path, help="another model's file, in place of --model")
    parser.add_argument("--dtypes", default="int8", help="of our engine, separated by commas")
    parser.add_argument("--isa", default="native", choices=RESTRICTED, help="what both sides may use, where they can")
    parser.add_argument("--measures", default=",".join(MEASURES), help="separated by commas")
    parser.add_argument("--out", type=Path, help="the results file, else bench/results/peers-….json")
    asked = parser.parse_args()
    if fault := isa_fault(asked.isa):
        parser.error(fault)
    if unknown := set(asked.measures.split(",")) - MEASURES.keys():
        parser.error(f"--measures takes {', '.join(MEASURES)}; not {', '.join(unknown)}.")
    return asked


def _run(asked: argparse.Namespace, stack: ExitStack) -> int:
    gguf, tasks = asked.gguf or store.path(catalogue.find(asked.model)), chosen(asked.gaps)
    name = asked.gguf.stem.lower() if asked.gguf else catalogue.find(asked.model).name
    todo = rounds(tasks, ModelTokenizer(converted(gguf, weights_cache("bfloat16", infill_update=False), dense=False)))
    threads = psutil.cpu_count(logical=False) or 1
    contenders, missing = Field(gguf, asked.dtypes.split(","), threads, asked.isa).enter(stack)
    replies = measure(contenders, todo, asked.measures.split(","))
    measured = until_stopped(replies, f"{name}, {threads} threads", len(todo))
    children = {one.child.name: one.child for one in contenders}
    facts = {name: child.facts for name, child in children.items()}
    metrics = summary(measured) | {
        f"{name}/resident_mb": round(child.resident() / 1e6, 1) for name, child in children.items()
    }
    said = [*notes(facts, asked.isa), *missing.values()]
    show(f"{name}, {threads} threads, {asked.isa}", metrics, len(measured))
    print(*said, sep="\n")
    return written(
        f"peers-{name}" + ("" if asked.isa == "native" else f"-{asked.isa}"),
        _command(asked),
        metrics,
        [sample(one.task, replies) for one, replies in zip(todo, measured, strict=False)],
        out=asked.out,
        threads=threads,
        sides=facts,
        missing=missing,
        notes=said,
    )


def _command(asked: argparse.Namespace) -> str:
    model = ["--gguf", asked.gguf.name] if asked.gguf else ["--model", asked.model]
    words = ["python -m bench.peers --gaps", str(asked.gaps), *model, "--dtypes", asked.dtypes]
    words += ["--isa", asked.isa]
    return " ".join(words if asked.measures == ",".join(MEASURES) else [*words, "--measures", asked.measures])


if __name__ == "__main__":
    sys.exit(main())
