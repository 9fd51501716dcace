"""The command: `python -m bench.quality --set single-line --variants autoregressive verified`."""

import argparse
import sys
from pathlib import Path
from typing import Any

from bench import results
from bench.command import DTYPES, KEPT, at_least, guarded, loaded
from bench.quality.run import Plan, run
from bench.quality.sets import LANGUAGES, SETS, load
from bench.quality.variants import parse
from dlsp.models import catalogue

VARIANTS = ["autoregressive", "verified", "diffusion:0.98", "diffusion:0.9", "diffusion:0.5"]


@guarded(KEPT)
def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, 2 for what the user has to mend, 130 when stopped by Ctrl-C."""
    asked = _parser().parse_args(arguments)
    described = {variant: parse(variant) for variant in asked.variants}
    tasks = load(asked.set, asked.limit, asked.seed, asked.languages)
    model = catalogue.find(asked.model)

    # Not at the top: it brings PyTorch, and what is wrong in the command can be said at once.
    from bench.quality.known import Known
    from bench.quality.steered import Steered
    from dlsp_engine import Options

    def options(given: dict[str, Any]) -> Options:
        kind = Known if "known" in given else Steered if "steer" in given else Options
        return kind(**given, **ends)

    ends = {"end": SETS[asked.set].end, "max_tokens": SETS[asked.set].max_tokens}
    journal = f"quality-{asked.set}-{model.name}-{asked.dtype}{'' if asked.infill_update else '-published'}"
    if asked.kv != "auto":
        journal += f"-kv-{asked.kv}"
    if asked.adapters:
        journal += f"-{asked.adapters.name}"
    plan = Plan(
        bench=f"{journal}-{asked.limit}" if asked.limit else journal,
        journal=journal,
        set=asked.set,
        tasks=tasks,
        variants={name: options(given) for name, given in described.items()},
        folder=results.kept(asked.adapters),
        command=_command(asked),
        out=asked.out,
        fresh=asked.fresh,
    )
    print(f"Written to {run(plan, lambda: loaded(model, asked.dtype, asked.infill_update, asked.kv, asked.adapters))}")
    return 0


def _command(asked: argparse.Namespace) -> str:
    """What to type for the same numbers; where they are written to is nobody's business."""
    words = ["python -m bench.quality --set", asked.set, "--model", asked.model, "--dtype", asked.dtype]
    if not asked.infill_update:
        words.append("--no-infill-update")
    if asked.kv != "auto":
        words += ["--kv", asked.kv]
    if asked.adapters:
        words += ["--adapters", asked.adapters.name]
    if asked.limit:
        words += ["--limit", str(asked.limit), "--seed", str(asked.seed)]
    if asked.languages:
        words += ["--languages", *asked.languages]
    return " ".join([*words, "--variants", *asked.variants])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bench.quality", description=sys.modules["bench.quality"].__doc__)
    parser.add_argument("--set", choices=SETS, default="single-line")
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--variants", nargs="+", default=VARIANTS, metavar="VARIANT")
    parser.add_argument("--languages", nargs="+", choices=(*LANGUAGES, "typescript"), help="tasks in these alone")
    parser.add_argument("--limit", type=at_least(1), help="only so many tasks of each file, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--dtype", default="bfloat16", choices=DTYPES)
    parser.add_argument(
        "--infill-update",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="the weights with the infill update, or as they were published",
    )
    parser.add_argument(
        "--adapters",
        type=Path,
        metavar="DIR",
        help="a folder of infill updates and canvas adapters, else those that ship",
    )
    parser.add_argument("--kv", default="auto", choices=["auto", "float32", "int8", "int4"], help="what KV caches hold")
    parser.add_argument("--out", type=Path, help="the results file, else one in bench/results")
    parser.add_argument("--fresh", action="store_true", help="forget the fills of an earlier run")
    return parser


if __name__ == "__main__":
    sys.exit(main())
