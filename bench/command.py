"""What the commands of the benches share."""

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from bench import results
from bench.progress import progress
from dlsp import paths
from dlsp.engine import client, launch
from dlsp.errors import UserError
from dlsp.models import store
from dlsp.models.catalogue import Model
from dlsp_engine.errors import EngineError

if TYPE_CHECKING:
    import dlsp_engine

Given = ParamSpec("Given")
Found = TypeVar("Found")

DTYPES = ("int4", "int8", "bfloat16", "float32")

# Exit statuses: something is lacking that the user may provide; Ctrl-C.
MEND, STOPPED = 2, 130

NOTHING = "Stopped: nothing was written."
KEPT = "Stopped. What is done is kept: the same command goes on from there."
WRITTEN = "Stopped. What was written is kept."


def guarded(stopped: str = NOTHING) -> Callable[[Callable[Given, int]], Callable[Given, int]]:
    """A command that says in a sentence what the user has to mend, and `stopped` after Ctrl-C."""

    def around(main: Callable[Given, int]) -> Callable[Given, int]:
        @wraps(main)
        def run(*given: Given.args, **named: Given.kwargs) -> int:
            try:
                return main(*given, **named)
            except (UserError, EngineError, OSError) as error:
                print(error, file=sys.stderr)
                return MEND
            except KeyboardInterrupt:
                print(stopped, file=sys.stderr)
                return STOPPED

        return run

    return around


def at_least(least: int) -> Callable[[str], int]:
    """The type of an option that counts."""

    def number(text: str) -> int:
        if (found := int(text)) < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}")
        return found

    return number


def line(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> str:
    """What to type for the same numbers."""
    return " ".join([parser.prog, *(f"--{name} {value}" for name, value in vars(asked).items() if value is not None)])


def written(
    bench: str, command: str, metrics: Mapping[str, float], samples: Sequence[Mapping[str, Any]], **more: Any
) -> int:
    """Write a results file (`results.write`) and say where it is: the end of a command, and its exit status."""
    print(f"Written to {results.write(bench, command, metrics, samples, **more)}")
    return 0


def weights_cache(dtype: str, infill_update: bool = True) -> Path:
    """The cache folder for weights of this dtype: with the infill update, or as they were published, which llama.cpp
    and transformers read. Each has a folder, apart from the engine's own: a folder keeps one conversion of a file.
    """
    return paths.cache_dir() / "bench" / "weights" / (dtype if infill_update else f"{dtype}-published")


def loaded(
    model: Model, dtype: str, infill_update: bool = True, kv: str = "auto", adapters: Path | None = None
) -> "dlsp_engine.Engine":
    """An engine in this process, its weights with or without the infill update, its KV caches in the format `kv`.

    `adapters` is a folder of updates and canvas adapters in place of those that ship.
    """
    path = store.path(model)
    from dlsp_engine import Engine  # PyTorch takes a second

    if adapters is None:
        return Engine.load(path, weights_cache(dtype, infill_update), dtype, infill_update=infill_update, kv=kv)
    cache = paths.cache_dir() / "other-adapters" / adapters.name
    return Engine.load(path, cache, dtype, infill_update=infill_update, kv=kv, adapters=adapters)


def until_stopped(found: Iterable[Found], what: str, total: int) -> list[Found]:
    """What is found until Ctrl-C, which is passed on where nothing is yet."""
    kept: list[Found] = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with progress(what, total) as advance:
            for one in found:
                kept.append(one)
                advance()
    except KeyboardInterrupt:
        if not kept:
            raise
        print(f"Stopped after {len(kept)} of {total}: these count.", file=sys.stderr)
    return kept


@asynccontextmanager
async def own_engine(model: Model) -> AsyncIterator[client.Engine]:
    """An engine process of one's own, with a state folder of its own, as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DLSP_STATE_DIR"] = folder
        try:
            async with await launch.ensure(model) as engine:
                yield engine
        finally:
            await launch.stop(model)
