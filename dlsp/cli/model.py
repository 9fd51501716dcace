"""`dlsp model`: download, add, list, try, check and remove models."""

import asyncio
import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlsp.cli._common import add_group
from dlsp.engine import local
from dlsp.errors import UserError
from dlsp.models import store
from dlsp.models.added import every, find
from dlsp.models.catalogue import DEFAULT, Model

if TYPE_CHECKING:
    from dlsp.doctor.trial import Trial

# Families whose published weights have been run, and with what score. docs/models.md has the same in its table.
RUN: dict[str, str] = {
    "qwen2": "Qwen2.5-Coder 0.5B and 1.5B Instruct, Q4_K_M: 79.1% and 88.0% pass@1 on single lines",
    "llama": "SmolLM2-135M-Instruct, Q4_1: greedy tokens as llama.cpp's but for ties and 4 of 1,200; no score of gaps",
}
NEVER = "never run with published weights"


def add(subparsers: Any) -> None:
    """Register `dlsp model …` with argparse's sub-parsers."""
    commands = (
        ("pull", pull, "fetch the file of a model of dlsp's own unless it is here"),
        ("add", add_, "add a model of yours, or one of the model hub"),
        ("list", list_, "what there is, and what of it is here"),
        ("show", show, "what is known of a model"),
        ("bench", bench, "try a model here: tokens a second, a line's time, memory, pass@1"),
        ("remove", remove, "remove what dlsp keeps of a model"),
        ("path", path, "print where a model lies"),
        ("verify", verify, "hash a model anew"),
    )
    parsers = add_group(subparsers, "model", "bring models here and look after them", commands)
    for name in ("pull", "path", "verify"):
        parsers[name].add_argument(
            "name", nargs="?", default=DEFAULT.short, metavar="NAME", help=f"default: {DEFAULT.short}"
        )
    for name in ("show", "bench", "remove"):
        parsers[name].add_argument("name", metavar="NAME")
    parsers["list"].add_argument("--json", action="store_true", help="print one JSON array")
    parsers["pull"].add_argument("--from", type=Path, dest="source", metavar="PATH", help="a local file or folder")
    adding = parsers["add"]
    adding.add_argument(
        "what", metavar="PATH|HUB-ID", help="a GGUF file, a folder with a model, or ORG/MODEL of the hub"
    )
    adding.add_argument("--name", metavar="NAME", help="what to call it; default: by its path")
    adding.add_argument(
        "--revision", metavar="R", help="a branch, tag or commit of the hub's repository; default: main"
    )
    adding.add_argument("--file", metavar="F", help="which GGUF file, if there are several")
    adding.add_argument(
        "--edit-format",
        choices=("none", "sweep", "zeta1", "zeta2", "zeta2.1"),
        help="in which others trained it to write edits; default: by its name",
    )


def pull(args: Namespace) -> int:
    from dlsp.models.progress import Terminal
    from dlsp.models.pull import pull as bring

    local.require()  # installing the engine also brings what downloading needs, and only the engine reads the file
    model = find(args.name)
    if model.path:
        raise UserError(f"{model.short} was added from {_origin(model)}: `dlsp model add` brings it anew.")
    try:
        with Terminal() as progress:
            file = bring(model, args.source, progress)
    except KeyboardInterrupt:
        print("Stopped; the same command goes on from here.", file=sys.stderr)
        return 130
    print(f"{model.short} is ready: {file}")
    return 0


def add_(args: Namespace) -> int:
    from dlsp.models.add import add as take
    from dlsp.models.progress import Terminal

    local.require()
    try:
        with Terminal() as progress:
            model = take(args.what, args.name, args.revision, args.file, progress, args.edit_format)
    except KeyboardInterrupt:
        print("Stopped; the same command goes on from here.", file=sys.stderr)
        return 130
    print(f"{model.short} is ready: {_described(model)}, at {store.place(model)}")
    print(f"The family {model.family}: {RUN.get(model.family, NEVER)}.")
    print(f"{_decoding(model)[0].upper()}{_decoding(model)[1:]}.")
    if model.edit_format:
        print(f"Next edits: {_edits(model)}.")
    print(f'Set `model` to "{model.short}" to use it; `dlsp engine start --model {model.short}` measures it here.')
    return 0


def list_(args: Namespace) -> int:
    models = every()
    if args.json:
        print(json.dumps([_listed(model) for model in models], indent=1))
        return 0
    width = max(len(model.short) for model in models)
    for model in models:
        size, about = f"{model.size / 1e6:,.0f} MB", model.licence or model.family
        print(f"{model.short:{width}} {size:>9}  {_state(model):9} {about:11} {store.place(model)}")
    return 0


def show(args: Namespace) -> int:
    model = find(args.name)
    facts = {
        "name": model.name,
        "model": _described(model),
        "from": _origin(model),
        "path": f"{store.place(model)} ({_state(model)})",
        "SHA-256": model.sha256,
        "licence": model.licence or "see where it is from",
        "here": _cost(model),
        "decoding": _decoding(model),
        "next edits": _edits(model),
        "family": f"{model.family}: {RUN.get(model.family, NEVER)}",
    }
    for name, fact in facts.items():
        print(f"{name:10} {fact}")
    return 0


def bench(args: Namespace) -> int:
    from dlsp.cli.bench import in_checkout
    from dlsp.doctor.trial import LINES
    from dlsp.engine import launch, state

    model = find(args.name)
    ran = state.alive(model.name)
    try:
        found = asyncio.run(_tried(model))
        for mode, tokens_s in found.tokens_s.items():
            print(f"{mode:14} {tokens_s:,.0f} tokens a second, {found.tau[mode]:.2f} a forward")
        low, high = min(found.line_ms), max(found.line_ms)
        print(f"{'a line':14} {found.line:.0f} ms ({low:.0f} to {high:.0f}), its prompt cached")
        print(f"{'reading':14} {found.read_s:,.0f} tokens a second")
        print(f"{'memory':14} {found.memory / 1e6:,.0f} MB")
        print(f"{'exact':14} {found.exact} of {LINES} lines of Python's standard library", flush=True)
        return in_checkout("bench.pass_at_1", [model.short], "pass@1")
    finally:
        if not ran:
            asyncio.run(launch.stop(model))


def remove(args: Namespace) -> int:
    from dlsp.engine import launch, state
    from dlsp.models.add import remove as take_away

    model = find(args.name)
    if state.alive(model.name) and not asyncio.run(launch.stop(model)):
        raise UserError(f"The engine of {model.short} is loading: run `dlsp engine stop --model {model.short}` first.")
    removed = take_away(model)
    for each in removed:
        print(f"removed {each}")
    if model.path and store.place(model).exists():
        print(f"{model.short} is removed; your own {store.place(model)} stays.")
    else:
        print(f"{model.short} is removed." if removed else f"There was nothing of {model.short} here.")
    return 0


def path(args: Namespace) -> int:
    print(store.path(find(args.name)))
    return 0


def verify(args: Namespace) -> int:
    from dlsp.models.progress import Terminal

    model = find(args.name)
    with Terminal() as progress:
        store.verify(model, progress)
    print(f"{model.short} is right: SHA-256 {model.sha256}")
    return 0


async def _tried(model: Model) -> "Trial":
    """The trial of the model by its engine, which is started if it does not run."""
    from rich.console import Console
    from rich.progress import Progress

    from dlsp.cli._common import engine_of
    from dlsp.doctor.trial import steps, trial

    async with await engine_of(model) as engine:
        console = Console(stderr=True)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(f"trying {model.short}", total=steps(model))
            return await trial(engine, model, lambda: progress.advance(task))


def _listed(model: Model) -> dict[str, str | int]:
    return {
        "name": model.short,
        "model": model.name,
        "size": model.size,
        "state": _state(model),
        "about": _described(model),
        "here": _cost(model),
        "decoding": _decoding(model),
    }


def _cost(model: Model) -> str:
    from dlsp.models.sizing import choose

    estimate = choose().estimates.get(model.short)
    if not estimate:
        return "not measured: the engine measures this machine at its first start"
    return f"{estimate.line_ms:.0f} ms a line, {estimate.read_s:.1f} s to read a file ({estimate.how})"


def _state(model: Model) -> str:
    try:
        store.path(model)
    except store.ModelMissing:
        if not store.place(model).exists():
            return "not here"
        return "changed" if model.path else "damaged"
    return "here"


def _described(model: Model) -> str:
    return f"{model.family}, {model.parameters / 1e6:,.0f} million parameters, {model.size / 1e6:,.0f} MB"


def _decoding(model: Model) -> str:
    if model.attention != "causal":
        return f"a diffusion checkpoint whose attention is `{model.attention}`: set `mode` to `diffusion`"
    if not model.fills:
        return "it has no tokens for gaps: it writes on at the end of a file, and `auto` does not take it"
    return "it fills gaps, and verified answers are its autoregressive ones"


def _edits(model: Model) -> str:
    if not model.edit_format:
        return "those that an edit teaches by itself, judged by the model"
    return f"also what the model writes, in the format `{model.edit_format}`, which never ran with published weights"


def _origin(model: Model) -> str:
    if not model.repo:
        return "this machine"
    return f"the hub's {model.repo}" + (f" at {model.revision[:12]}" if model.revision else "")
