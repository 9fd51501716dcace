"""A short trial of a model on this machine, asked of its engine as an editor asks: how fast it writes and reads, how
long a line takes, how much memory it needs, and how many lines of Python's standard library it writes as they are.
"""

import random
import statistics
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlsp.engine.client import Engine
from dlsp.models.catalogue import Model

LINES, PASSAGES = 12, 4
PASSAGE_TOKENS, LINE_TOKENS = 48, 64
BEFORE, AFTER = 2400, 1200  # characters of the window, whole lines
MIN_CHARACTERS = 12  # of a line that is asked for
MODULES = ("argparse", "calendar", "configparser", "csv", "difflib", "fractions", "heapq", "pprint", "textwrap", "uuid")
MODES = ("autoregressive", "verified")


@dataclass(frozen=True)
class Gap:
    """A line of the standard library, and what stands before and behind it."""

    prefix: str
    line: str
    suffix: str


@dataclass(frozen=True)
class Trial:
    """What the engine did with the gaps of a trial."""

    tokens_s: dict[str, float]  # by mode: tokens a second
    tau: dict[str, float]  # by mode: tokens a forward
    line_ms: list[float]  # of each single line with its prompt cached: from the request to the answer
    read_s: float  # prompt tokens a second
    exact: int  # how many of the lines were exactly right
    memory: int  # bytes of the engine's process

    @property
    def line(self) -> float:
        return statistics.median(self.line_ms)


async def trial(engine: Engine, model: Model, advance: Callable[[], None]) -> Trial:
    """`advance` is called `steps(model)` times. Raises UserError if the engine fails."""
    import psutil

    tokens_s: dict[str, float] = {}
    tau: dict[str, float] = {}
    for mode in modes(model):
        fills: list[dict[str, Any]] = []
        for gap in gaps(PASSAGES, seed=1):
            fills.append(await engine.fill(_request(gap.prefix, "", mode, "token", PASSAGE_TOKENS)))
            advance()
        tokens = sum(fill["cost"]["tokens"] for fill in fills)
        tokens_s[mode] = 1e3 * tokens / sum(fill["cost"]["decode_ms"] for fill in fills)
        tau[mode] = tokens / sum(fill["cost"]["forwards"] for fill in fills)
    line_ms: list[float] = []
    read, read_ms, exact = 0, 0.0, 0
    for number, gap in enumerate(gaps(LINES)):
        suffix = gap.suffix if model.fills else ""
        first = _request(gap.prefix, suffix, modes(model)[-1], "line", 1, f"trial {number}")
        cost = (await engine.fill(first))["cost"]
        read, read_ms = read + cost["prompt_tokens"] - cost["cached_tokens"], read_ms + cost["prefill_ms"]
        began = time.perf_counter()
        fill = await engine.fill(first | {"max_tokens": LINE_TOKENS})
        line_ms.append(1e3 * (time.perf_counter() - began))
        exact += fill["text"].strip() == gap.line.strip()
        advance()
    memory = psutil.Process(engine.state.pid).memory_info().rss
    return Trial(tokens_s, tau, line_ms, 1e3 * read / read_ms if read_ms else 0.0, exact, memory)


def modes(model: Model) -> tuple[str, ...]:
    """The modes that the model is tried in; the last is the one that it is used in."""
    return MODES if model.attention == "causal" else ("diffusion",)


def steps(model: Model) -> int:
    return PASSAGES * len(modes(model)) + LINES


def gaps(count: int, seed: int = 0) -> list[Gap]:
    """So many gaps of whole lines, the same ones on every machine with this version of Python."""
    rng = random.Random(seed)
    folder = Path(sysconfig.get_path("stdlib"))
    texts = [path.read_text(encoding="utf-8") for name in MODULES if (path := folder / f"{name}.py").exists()]
    return [_gap(rng.choice(texts), rng) for _ in range(count)]


def _gap(text: str, rng: random.Random) -> Gap:
    lines = text.splitlines(keepends=True)
    at = rng.choice([number for number in range(60, len(lines) - 12) if len(lines[number].strip()) > MIN_CHARACTERS])
    line = lines[at].rstrip("\n")
    written = line.lstrip()
    indent = line[: len(line) - len(written)]
    before, behind = "".join(lines[:at])[-BEFORE:].partition("\n")[2], "".join(lines[at + 1 :])[:AFTER]
    return Gap(before + indent, written, "\n" + behind.rpartition("\n")[0])


def _request(prefix: str, suffix: str, mode: str, end: str, most: int, session: str = "") -> dict[str, Any]:
    gap = {"prefix": prefix, "suffix": suffix, "path": "module.py"}
    if session:
        gap["session"] = session
    return {"gaps": [gap], "mode": mode, "end": end, "max_tokens": most}
