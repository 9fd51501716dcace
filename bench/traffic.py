"""Two hours' mixed traffic of four clients, replayed as fast as the engine answers: `python -m bench.traffic`.

Two editors type, prefetch and fill, an agent fills many gaps at once, and a chat talks; texts are this repository's own
Python files. 5% of all requests are left in the middle, 1% are malformed, and 1% have too long a prompt. The engine is
a real one of its own, with so little memory for keys and values that it is full after some minutes.

Memory is what the engine alone holds; `resident` also counts pages of mapped files, which the system can drop: those of
the embedding are read when a token comes first.

The exit status is 1 if a request ended without an answer or a reason, if the memory grew, or if typing became slower.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

from bench.command import guarded, line, own_engine, written
from bench.progress import progress
from dlsp.models import catalogue

ROOT = Path(__file__).parents[1]
ASKS_AN_HOUR = {"editor one": 1200, "editor two": 1200, "agent": 100, "chat": 60}
EDITORS = ("editor one", "editor two")
LEFT, MALFORMED, TOO_LONG = 0.05, 0.01, 0.01  # shares of all requests
LEFT_WITHIN_S = 0.3
KV_MB = "128"
SAMPLES = 400  # looks at the memory
MAX_GROWTH = 1.03  # of the memory, from the second quarter of the time to the last
MAX_SLOWDOWN = 1.25  # of typing's 95th percentile, from the first half to the second
ANSWER_S = 300.0  # within which a request must end


@dataclass(frozen=True)
class Ask:
    """One request. `kind` is what it is for; `leave_s` is when the client closes the connection, None for never."""

    kind: str
    path: str
    body: bytes
    leave_s: float | None = None


@dataclass(frozen=True)
class Ended:
    """How a request ended: `done`, `refused` (an HTTP error with a sentence), `error` (an error event with a sentence),
    `left` (by the client), or `lost` (anything else).
    """

    client: str
    kind: str
    how: str
    began_s: float
    ms: float


class Document:
    """A file in which somebody types at one place after the other."""

    def __init__(self, rng: random.Random, text: str, name: str) -> None:
        self._rng, self._text, self.name = rng, text, name
        self._move()

    def _move(self) -> None:
        self._at = self._rng.randrange(len(self._text))
        self._typed = 0

    def gap(self, characters: int) -> dict[str, Any]:
        """Type some characters of what the file says here; sometimes go elsewhere."""
        if self._rng.random() < 0.05 or self._typed > 60:
            self._move()
        self._typed += characters
        before, after = self._text[: self._at], self._text[self._at :]
        middle, rest = after[: self._typed], after[self._typed :]
        suffix = rest[rest.find("\n") :] if "\n" in rest else ""
        return {"prefix": before[-3000:], "middle": middle, "suffix": suffix[:800], "path": self.name}


def traffic(seed: int, hours: float) -> dict[str, list[Ask]]:
    """The requests of each client, in order; the same for the same seed and the same files."""
    files = sorted((ROOT / "dlsp").rglob("*.py"))
    texts = {file.name: text for file in files if len(text := file.read_text(encoding="utf-8")) > 2000}
    asks: dict[str, list[Ask]] = {}
    for client, an_hour in ASKS_AN_HOUR.items():
        rng = random.Random(f"{seed} {client}")
        documents = [Document(rng, texts[name], name) for name in rng.sample(sorted(texts), 6)]
        make = {"agent": _agent, "chat": _chat}.get(client, _editor)
        asks[client] = [
            _spoiled(rng, *make(rng, documents, number), client) for number in range(round(hours * an_hour))
        ]
    return asks


def _editor(rng: random.Random, documents: Sequence[Document], number: int) -> tuple[str, str, dict[str, Any]]:
    document = documents[number // 40 % len(documents)]
    gap = document.gap(rng.randrange(1, 4)) | {"session": document.name}
    kind = rng.choices(("typing", "prefetch", "body"), (0.85, 0.1, 0.05))[0]
    if kind == "prefetch":
        return kind, "/v1/infill", {"gaps": [gap], "max_tokens": 1, "priority": "prefetch"}
    if kind == "body":
        return kind, "/v1/infill", {"gaps": [gap], "end": "body", "max_tokens": 96, "priority": "filling"}
    return kind, "/v1/infill", {"gaps": [gap], "end": "line", "max_tokens": 32}


def _agent(rng: random.Random, documents: Sequence[Document], number: int) -> tuple[str, str, dict[str, Any]]:
    gaps = [rng.choice(documents).gap(0) for _ in range(rng.choice((4, 8, 16)))]
    return "gaps", "/v1/infill", {"gaps": gaps, "end": "line", "max_tokens": 24}


def _chat(rng: random.Random, documents: Sequence[Document], number: int) -> tuple[str, str, dict[str, Any]]:
    said = [rng.choice(documents).gap(0)["prefix"][-400:] for _ in range(1 + 2 * (number % 3))]
    roles = ["user" if place % 2 == 0 else "assistant" for place in range(len(said))]
    messages = [{"role": role, "content": content} for role, content in zip(roles, said, strict=True)]
    more = rng.choice(({}, {"temperature": 0.8, "seed": number}, {"temperature": 1, "n": 2, "top_p": 0.9}))
    return "chat", "/v1/generate", {"messages": messages, "session": f"chat {number // 3}", "max_tokens": 48} | more


def _spoiled(rng: random.Random, kind: str, path: str, body: dict[str, Any], client: str) -> Ask:
    """The request, or one of those that are not as they should be."""
    body = body | {"client": client}
    chance = rng.random()
    if chance < LEFT:
        return Ask(f"left {kind}", path, json.dumps(body).encode(), rng.uniform(0, LEFT_WITHIN_S))
    if chance < LEFT + MALFORMED:
        whole = json.dumps(body).encode()
        cut = rng.randrange(len(whole))
        wrong = rng.choice((whole[:cut], json.dumps(body | {"max_tokens": "many"}).encode(), b"\xff" + whole))
        return Ask("malformed", path, wrong)
    if chance < LEFT + MALFORMED + TOO_LONG:
        long = rng.choice((40_000, 200_000)) * "x = 1\n"
        return Ask("too long", "/v1/infill", json.dumps({"gaps": [{"prefix": long, "suffix": ""}]}).encode())
    return Ask(kind, path, json.dumps(body).encode())


async def replay(
    asks: Mapping[str, Sequence[Ask]], http: httpx.AsyncClient, advance: Callable[[], None] = lambda: None
) -> list[Ended]:
    """Send each client's requests one after the other, all clients at once; `advance` is called after each request."""
    ended: list[Ended] = []
    start = time.perf_counter()

    async def one(client: str) -> None:
        for ask in asks[client]:
            began = time.perf_counter()
            how = await _ended(http, ask)
            ended.append(Ended(client, ask.kind, how, began - start, 1e3 * (time.perf_counter() - began)))
            advance()

    async with asyncio.TaskGroup() as group:
        for client in asks:
            group.create_task(one(client))
    return ended


async def _ended(http: httpx.AsyncClient, ask: Ask) -> str:
    try:
        async with asyncio.timeout(ANSWER_S if ask.leave_s is None else ask.leave_s):
            return await _answered(http, ask)
    except TimeoutError:
        return "lost" if ask.leave_s is None else "left"
    except httpx.HTTPError:
        return "lost"


async def _answered(http: httpx.AsyncClient, ask: Ask) -> str:
    async with http.stream("POST", ask.path, content=ask.body) as answer:
        if answer.status_code != 200:
            told = json.loads(await answer.aread())
            return "refused" if 400 <= answer.status_code < 500 and told["error"].endswith(".") else "lost"
        last: dict[str, Any] = {}
        async for text in answer.aiter_lines():
            last = json.loads(text) if text else last
    if last.get("event") == "error":
        return "error" if last["error"].endswith(".") else "lost"
    return "done" if last == {"event": "done"} else "lost"


def summary(ended: Sequence[Ended], memory: Sequence[tuple[float, float]]) -> dict[str, float]:
    """How requests ended, by kind; typing's percentiles in both halves of the time; and how both kinds of `memory`, the
    engine's own and the resident one, grew, in MB.
    """
    metrics: dict[str, float] = {"requests": len(ended), "lost": sum(one.how == "lost" for one in ended)}
    for one in ended:
        metrics[f"{one.kind}/{one.how}"] = metrics.get(f"{one.kind}/{one.how}", 0) + 1
    typed = [one for one in sorted(ended, key=lambda one: one.began_s) if one.kind == "typing" and one.how == "done"]
    halves = typed[: len(typed) // 2], typed[len(typed) // 2 :]
    for name, half in zip(("first", "second"), halves, strict=True):
        p50, p95 = map(float, np.percentile([one.ms for one in half], (50, 95)))
        metrics |= {f"typing_ms/{name}/p50": p50, f"typing_ms/{name}/p95": p95}
    metrics["typing_ms/slowdown"] = metrics["typing_ms/second/p95"] / metrics["typing_ms/first/p95"]
    quarter = len(memory) // 4
    for name, of in zip(("memory", "resident"), zip(*memory, strict=True), strict=True):
        second, last = (statistics.median(part) for part in (of[quarter : 2 * quarter], of[-quarter:]))
        metrics |= {
            f"{name}_mb/second_quarter": second,
            f"{name}_mb/last_quarter": last,
            f"{name}/growth": last / second,
        }
    return {name: round(value, 3) for name, value in metrics.items()}


async def measure(model: catalogue.Model, seed: int, hours: float) -> tuple[dict[str, float], list[dict[str, Any]]]:
    asks = traffic(seed, hours)
    count = sum(map(len, asks.values()))
    memory: list[tuple[float, float]] = []
    os.environ["DLSP_KV_MB"] = KV_MB
    async with own_engine(model) as engine:
        process = psutil.Process(engine.state.pid)
        path = engine.state.address.removeprefix("unix:")
        there = path != engine.state.address
        async with httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(uds=path if there else None),
            base_url="http://localhost" if there else engine.state.address,
            headers={"Authorization": f"Bearer {engine.state.token}"},
            timeout=None,
        ) as http:
            with progress("requests", count) as tell:
                done = 0

                def advance() -> None:
                    nonlocal done
                    tell()
                    done += 1
                    if done * SAMPLES // count > (done - 1) * SAMPLES // count:
                        now = process.memory_info()
                        memory.append(((now.rss - getattr(now, "shared", 0)) / 1e6, now.rss / 1e6))

                ended = await replay(asks, http, advance)
    samples = [{"client": one.client, "kind": one.kind, "how": one.how, "ms": round(one.ms, 1)} for one in ended]
    samples += [{"memory_mb": round(own, 1), "resident_mb": round(resident, 1)} for own, resident in memory]
    return summary(ended, memory), samples


def broken(metrics: Mapping[str, float]) -> list[str]:
    """What is not as it should be, a sentence each."""
    told = []
    if metrics["lost"]:
        told.append(f"{metrics['lost']:.0f} requests ended without an answer or a reason.")
    if metrics["memory/growth"] > MAX_GROWTH:
        told.append(f"The memory grew to {metrics['memory/growth']:.3f} of what it was.")
    if metrics["typing_ms/slowdown"] > MAX_SLOWDOWN:
        told.append(f"Typing's 95th percentile grew to {metrics['typing_ms/slowdown']:.2f} of what it was.")
    return told


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.traffic", description="Mixed traffic of four clients.")
    parser.add_argument("--hours", type=float, default=2.0, help="of traffic, which is replayed faster")
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    model = catalogue.find(asked.model)
    metrics, samples = asyncio.run(measure(model, asked.seed, asked.hours))
    print(metrics)
    told = broken(metrics)
    print("\n".join(told), file=sys.stderr)
    written(f"traffic-{model.name}", line(parser, asked), metrics, samples)
    return int(bool(told))


if __name__ == "__main__":
    sys.exit(main())
