"""What the language server adds: `python -m bench.overhead`.

An editor types this very file into one of 5,000 lines and asks after every character. The engine is a stub that
answers at once with the rest of the line, wrongly every other line, so that all of the time from question to answer is
the server's (*both*). Where the engine was asked after the question, *in* is from the editor's send to the engine's
receipt, *out* from its answer to the editor's receipt, *engine* both together.
Then, while the engine holds a request, other requests are timed. `cpu_ms` is what the server's process computed for a
question, whatever else ran. `--soak` types an hour's worth and looks at memory and latency.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from bench.command import at_least, guarded, written
from bench.spread import tail
from tests.dlsp.editor import Editor
from tests.dlsp.stub_engine import StubEngine

LINES = 5_000
BLOCK = "def compute_{0}(value, other={0}):\n    total = value + other * {0}\n    return total or {0}\n\n\n"
# Without the docstring: while one is open, all that follows is broken.
TYPED = Path(__file__).read_text(encoding="utf-8").partition('"""\n\n')[2]
# One of so many samples of a soak is kept.
EVERY = 10
# Characters: five a second for an hour.
HOUR = 3600 * 5


class Timed(StubEngine):
    """Notes when each request came and went."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.coming = ""
        self.answer = lambda request: self.coming
        self.came: list[float] = []
        self.went: list[float] = []

    def fill(self, path: str, request: dict[str, Any]) -> bytes:
        came = time.perf_counter()
        body = super().fill(path, request)
        if request.get("priority", "typing") == "typing":  # what is fetched ahead answers nobody
            self.came.append(came)
            self.went.append(time.perf_counter())
        return body


class Typist:
    """Types real code at one place of the document, a character at a time, again and again."""

    def __init__(self, editor: Editor, uri: str, line: int) -> None:
        self.editor, self.uri = editor, uri
        self.line, self.column = line, 0
        self._at = 0

    def step(self) -> str:
        """Type a character. Returns what a model might say comes next: the rest of the line, another in odd lines."""
        char = TYPED[self._at]
        self._at = (self._at + 1) % len(TYPED)
        self.editor.type(self.uri, self.line, self.column, char)
        self.line, self.column = (self.line + 1, 0) if char == "\n" else (self.line, self.column + 1)
        rest = TYPED[self._at :].partition("\n")[0]
        return f"other_{rest}" if self.line % 2 else rest


def source(lines: int) -> str:
    return "".join(BLOCK.format(number) for number in range(lines // 5))


async def typing(typist: Typist, stub: Timed, characters: int) -> list[dict[str, float]]:
    """Milliseconds of each question; where the engine was asked after it, in and out too."""
    samples: list[dict[str, float]] = []
    for _ in range(characters):
        stub.coming = typist.step()
        asked, before = time.perf_counter(), len(stub.came)
        await asyncio.wait_for(typist.editor.ask(typist.uri, typist.line, typist.column), 10)
        answered = time.perf_counter()
        sample = {"both_ms": round(1e3 * (answered - asked), 3)}
        if len(stub.went) > before and asked < stub.came[before] and stub.went[before] < answered:
            sample["in_ms"] = round(1e3 * (stub.came[before] - asked), 3)
            sample["out_ms"] = round(1e3 * (answered - stub.went[before]), 3)
            sample["engine_ms"] = round(sample["in_ms"] + sample["out_ms"], 3)
        samples.append(sample)
        stub.requests.clear()
    return samples


async def others(editor: Editor, stub: Timed, uri: str, number: int) -> list[float]:
    """Milliseconds of requests about another document while the engine works on the first one's."""
    times = []
    for _ in range(number):
        stub.hold.set()
        held = editor.ask(uri, 4, 0)
        await asyncio.sleep(0.02)
        began = time.perf_counter()
        await asyncio.wait_for(editor.ask("file:///bench/closed.py", 0, 0), 10)
        times.append(1e3 * (time.perf_counter() - began))
        stub.hold.clear()
        await asyncio.wait_for(held, 10)
    return times


async def run(characters: int, lines: int) -> tuple[dict[str, float], list[dict[str, float]]]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DLSP_STATE_DIR"] = folder
        uri = (Path(folder) / "long.py").as_uri()
        with Timed(Path(folder)) as stub:
            async with Editor(encoding="utf-16") as editor:
                assert editor.client._server is not None
                server = psutil.Process(editor.client._server.pid)
                editor.open(uri, source(lines))
                await editor.ready(uri)
                typist = Typist(editor, uri, lines // 2 + 4)
                await typing(typist, stub, 50)
                memory = [server.memory_info().rss / 1e6]
                samples, began = [], sum(server.cpu_times()[:2])
                for _ in range(10):
                    samples += await typing(typist, stub, characters // 10)
                    memory.append(server.memory_info().rss / 1e6)
                computed = sum(server.cpu_times()[:2]) - began
                waited = await others(editor, stub, uri, 200)
    metrics: dict[str, float] = {"requests": len(samples), "asked_after": sum("in_ms" in sample for sample in samples)}
    for name in ("in_ms", "out_ms", "engine_ms", "both_ms"):
        metrics |= tail(name, [sample[name] for sample in samples if name in sample])
    metrics |= tail("others_ms", waited)
    both, lap = [sample["both_ms"] for sample in samples], len(TYPED)
    if len(both) >= 2 * lap:  # the same text each time: parts of it are not equally hard
        metrics |= tail("first_lap_ms", both[:lap]) | tail("last_lap_ms", both[-lap:])
    metrics["cpu_ms"] = 1e3 * computed / len(samples)
    metrics |= {"memory_mb/begin": memory[0], "memory_mb/first_tenth": memory[1], "memory_mb/end": memory[-1]}
    return {name: round(value, 3) for name, value in metrics.items()}, samples


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.overhead", description=__doc__)
    parser.add_argument("--characters", type=at_least(10), default=2_000)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--soak", action="store_true", help="an hour's typing, replayed fast")
    asked = parser.parse_args()
    characters = HOUR if asked.soak else asked.characters
    metrics, samples = asyncio.run(run(characters, asked.lines))
    print(metrics)
    given = "--soak" if asked.soak else f"--characters {characters} --lines {asked.lines}"
    command = f"python -m bench.overhead {given}"
    name = "soak" if asked.soak else "overhead" if asked.lines == LINES else f"overhead-{asked.lines}"
    return written(name, command, metrics, samples[:: EVERY if asked.soak else 1])


if __name__ == "__main__":
    sys.exit(main())
