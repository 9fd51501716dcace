"""How long the server's event loop is held up, by the clock: `python -m bench.blocking`.

An editor types, asks for next edits and has bodies filled, in a repository with a slow git on a slow disk (20 ms for
each look at a file). Meanwhile a timer beats each millisecond on the server's loop, and another one on a loop with
nothing to do in a process of its own: how late that one is is the machine's doing. Both are reported.

*server* and *bare* are how long a message that comes at any moment would wait for the loop. *own* is the server's
without the time that its thread was ready to run and had no processor, which Linux counts.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.command import at_least, guarded, written
from bench.heartbeat import BEAT_S
from bench.overhead import TYPED, Timed, Typist, source
from tests.dlsp.editor import Editor

LINES = 5_000
LIMIT_MS = 5.0
WORST = 50

Beats = list[tuple[float, float, float]]


def waits(late_ms: Sequence[float]) -> np.ndarray:
    """How long messages would wait that come evenly, ten a millisecond: the later a beat, the more of them wait."""
    step = 1e3 * BEAT_S / 10
    return np.concatenate([np.arange(max(0.0, each), -step / 2, -step) for each in late_ms] or [np.zeros(1)])


def metrics(name: str, late_ms: Sequence[float], seconds: float) -> dict[str, float]:
    """Percentiles of what any message would wait, and the longest."""
    found = waits(late_ms)
    comes = max(len(found), int(seconds * 1e4))  # at all other moments none waits
    ranked = np.sort(found)[::-1]
    at = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
    ranks = {key: int(comes * (1 - share)) for key, share in at.items()}
    numbers = {f"{name}_ms/{key}": float(ranked[rank]) if rank < len(ranked) else 0.0 for key, rank in ranks.items()}
    return numbers | {f"{name}_ms/max": float(ranked[0]), f"{name}/over_limit": float((found > LIMIT_MS).sum() / comes)}


async def use(editor: Editor, stub: Timed, uri: str, characters: int) -> dict[str, tuple[float, float]]:
    """Type, ask for edits, and fill. Returns when each part began and ended, on the clock."""
    parts, ask = {}, editor.client.protocol.send_request_async
    document, line = {"textDocument": {"uri": uri}}, LINES // 2 + 4
    began = time.monotonic()
    typist = Typist(editor, uri, line)
    for _ in range(characters):
        stub.coming = typist.step()
        await asyncio.wait_for(editor.ask(uri, typist.line, typist.column), 30)
    parts["typing"], began = (began, time.monotonic()), time.monotonic()
    for number in range(characters // 20):
        editor.type(uri, 5 * number, 4, "x")  # the name of a function: its calls are the sites
        await asyncio.wait_for(ask("dlsp/edits", document), 30)
    parts["edits"], began = (began, time.monotonic()), time.monotonic()
    stub.coming = "return 1"
    for number in range(characters // 20):
        editor.type(uri, 0, 0, f"def later{number}():\n    ...\n\n\n")
        await asyncio.wait_for(ask("dlsp/fill", document | {"position": {"line": 1, "character": 4}}), 30)
    parts["fills"] = began, time.monotonic()
    return parts


async def measured(characters: int, folder: Path) -> tuple[dict[str, tuple[float, float]], Beats, Beats]:
    """When each part was, the beats of the server and those of the bare loop."""
    project, program = folder / "project", folder / "bin" / "git"
    (project / ".git").mkdir(parents=True)
    (project / "pyproject.toml").write_text('[tool.dlsp]\nmode = "verified"\n')
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nsleep 0.5\n")
    program.chmod(0o755)
    os.environ["PATH"] = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["DLSP_STATE_DIR"] = str(folder / "state")
    (folder / "state").mkdir(mode=0o700)
    text, uri = source(LINES), (project / "long.py").as_uri()
    (project / "long.py").write_text(text)
    command = (sys.executable, "-m", "bench.heartbeat")
    Editor.command = (*command, str(folder / "server.json"), "--server", str(folder))  # type: ignore[assignment]
    bare = subprocess.Popen([*command, str(folder / "bare.json")], stdin=subprocess.PIPE)
    try:
        with Timed(folder / "state") as stub:
            async with Editor(project, encoding="utf-16") as editor:
                editor.open(uri, text)
                await editor.ready(uri)
                parts = await use(editor, stub, uri, characters)
    finally:
        await asyncio.to_thread(bare.communicate)
    return parts, *(json.loads((folder / f"{name}.json").read_text()) for name in ("server", "bare"))


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.blocking", description=__doc__)
    parser.add_argument("--characters", type=at_least(20), default=len(TYPED) // 4)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        parts, server, bare = asyncio.run(measured(asked.characters, Path(folder)))
    found: dict[str, float] = {}
    samples: list[dict[str, Any]] = []
    whole = min(began for began, _ in parts.values()), max(ended for _, ended in parts.values())
    for part, (began, ended) in {"whole": whole, **parts}.items():
        of_server = [each for each in server if began <= each[0] <= ended]
        late = {
            "server": [late for _, late, _ in of_server],
            "own": [late - waited for _, late, waited in of_server],
            "bare": [late for at, late, _ in bare if began <= at <= ended],
        }
        for name, beats in late.items():
            found |= metrics(f"{part}/{name}", beats, ended - began)
        if part != "whole":
            worst = sorted(of_server, key=lambda beat: beat[1], reverse=True)[:WORST]
            samples += [{"part": part, "late_ms": round(beat[1], 2), "waited_ms": round(beat[2], 2)} for beat in worst]
    found = {name: round(value, 5) for name, value in found.items()}
    print("\n".join(f"{name}: {value}" for name, value in found.items()))
    return written("blocking", f"python -m bench.blocking --characters {asked.characters}", found, samples)


if __name__ == "__main__":
    sys.exit(main())
