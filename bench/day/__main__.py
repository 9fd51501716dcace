"""The command: `python -m bench.day --hours 24`."""

import argparse
import asyncio
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from lsprotocol import types

import dlsp
from bench import day
from bench.command import guarded, own_engine, written
from bench.day.curves import Sample, folder, grown, quarters, sample
from bench.day.person import ANSWER_S, Person
from bench.day.recording import Action, Pause, recording
from bench.day.server import Clock
from dlsp import paths
from dlsp.engine import state
from dlsp.models.catalogue import find
from tests.dlsp.editor import Editor
from tests.dlsp.stub_engine import StubEngine

# Pauses in real time are cut to so many seconds.
CUT_S = 5.0
# Longer pauses in virtual time pass in steps, and after each the server gets a moment for what is due.
STEP_S, MOMENT_S = 300.0, 0.02
# How often an answer of the stub engine is what is typed next.
RIGHT_SHARE = 0.1
# The engine's model: `auto` might start another one beside it.
SIZE = "0.5b"
# Megabytes for keys and values: so few that they are full soon, and what still grows is something else.
KV_MB = "128"
# How many times use is sampled, about.
SAMPLES = 200


@dataclass
class Outcome:
    """What a run has shown."""

    counts: dict[str, int]
    lost: list[str]
    samples: list[Sample]
    took_s: float

    @property
    def grown(self) -> dict[str, tuple[float, float]]:
        return grown(self.samples)


async def run(seconds: float, seed: int, real: bool) -> Outcome:
    """Play a recording of so many seconds."""
    with tempfile.TemporaryDirectory(prefix="dlsp-day-") as top:
        place = Path(top)
        files = _workspace(place / "work" / "project")
        (place / "temporary").mkdir()
        os.environ["TMPDIR"] = str(place / "temporary")
        actions = list(recording(seed, seconds, [file.read_text(encoding="utf-8") for file in files]))
        async with _engine(place, real) as stub:
            return await _played(actions, seed, place, files, stub)


@asynccontextmanager
async def _engine(place: Path, real: bool) -> AsyncIterator[StubEngine | None]:
    """The stub engine in this process; or None, while the real one runs for this bench alone."""
    if real:
        os.environ["DLSP_KV_MB"] = KV_MB
        async with own_engine(find(SIZE)):
            yield None
        return
    (state_folder := place / "state").mkdir(mode=0o700)
    os.environ |= {"DLSP_STATE_DIR": str(state_folder), "DLSP_CACHE_DIR": str(place / "cache")}
    with StubEngine(state_folder) as stub:
        yield stub


async def _played(actions: list[Action], seed: int, place: Path, files: list[Path], stub: StubEngine | None) -> Outcome:
    project = place / "work" / "project"
    editor = Editor(project, options={"suggest": "eager", "model": SIZE})
    clock = Clock(place / "clock")
    if stub:
        editor.command = (sys.executable, "-m", "bench.day.server", str(place / "clock"))

    async def wait(seconds: float, asked: asyncio.Future[Any] | None) -> None:
        if stub is None:
            await asyncio.sleep(min(seconds, CUT_S))
            return
        if asked:
            await asyncio.wait([asked], timeout=ANSWER_S)
            clock.forward(seconds)
            return
        while seconds > 0:
            clock.forward(min(seconds, STEP_S))
            seconds -= STEP_S
            editor.client.set_trace(types.SetTraceParams(types.TraceValue.Off))  # wakes it
            await asyncio.sleep(MOMENT_S)

    async with editor:
        person = Person(editor, project, files, wait, seed)
        if stub:
            chance = random.Random(seed)

            def answer(request: dict[str, Any]) -> str:
                return person.coming.partition("\n")[0] if chance.random() < RIGHT_SHARE else "other(1)"

            stub.answer = answer
        server = editor.client._server
        assert server is not None
        samples: list[Sample] = []
        every, done = max(1, len(actions) // SAMPLES), 0
        engine = None if stub else state.read(find(SIZE).name)

        def after(action: Action) -> None:
            nonlocal done
            done += 1
            if stub:
                stub.requests.clear()
                stub.clients.clear()
            for each in (editor.log, editor.answers, editor.statuses, editor.progress, editor.shown):
                each.clear()
            if done % every == 0:
                samples.append(_sample(server.pid, engine.pid if engine else None, place))

        began = time.monotonic()
        await person.play(actions, after)
        return Outcome(dict(person.counts), person.lost, samples, time.monotonic() - began)


def _sample(server: int, engine: int | None, place: Path) -> Sample:
    found = sample(server, "server")
    for child in psutil.Process(server).children():
        found |= sample(child.pid, _name(child))
    if engine:
        found |= sample(engine, "engine")
    return found | folder(place / "temporary", "temporary") | folder(paths.state_dir(), "state")


def _name(child: psutil.Process) -> str:
    try:
        command = child.cmdline()
    except psutil.Error:
        return "child"
    return next((each for each in ("dlsp.index", "dlsp.syntax") if each in command), "child")


def _workspace(project: Path) -> list[Path]:
    """A copy of dlsp's own sources, and its longer files."""
    shutil.copytree(Path(dlsp.__file__).parent, project / "dlsp", ignore=shutil.ignore_patterns("__pycache__"))
    return sorted(file for file in project.rglob("*.py") if file.stat().st_size > 2_000)


def metrics(outcome: Outcome) -> dict[str, float]:
    found: dict[str, float] = {"minutes": round(outcome.took_s / 60, 2), "lost": len(outcome.lost)}
    found |= {"grown": len(outcome.grown), **{f"done/{name}": count for name, count in outcome.counts.items()}}
    for name in sorted({name for each in outcome.samples for name in each}):
        before, after = quarters(outcome.samples, name)
        found |= {f"{name}/second_quarter": before, f"{name}/last_quarter": after}
    return found


def cut(actions: list[Action]) -> float:
    """How many seconds it takes to play in real time, if no suggestion is taken over."""
    waits = (min(one.seconds, CUT_S) if isinstance(one, Pause) else getattr(one, "wait_s", 0.0) for one in actions)
    return sum(waits)


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.day", description=day.__doc__)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--real", action="store_true", help="against the real engine, in real time")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    outcome = asyncio.run(run(3600 * asked.hours, asked.seed, asked.real))
    command = f"python -m bench.day --hours {asked.hours:g}{' --real' * asked.real}"
    written(f"day-{asked.hours:g}h{'-real' * asked.real}", command, metrics(outcome), outcome.samples)
    for name, (before, after) in outcome.grown.items():
        print(f"{name} has grown from {before} to {after}.", file=sys.stderr)
    if outcome.lost:
        print(f"{len(outcome.lost)} requests were not answered within {ANSWER_S} s.", file=sys.stderr)
    return 1 if outcome.lost or outcome.grown else 0


if __name__ == "__main__":
    sys.exit(main())
