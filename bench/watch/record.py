"""The recording: the events of a real engine over HTTP, each with the milliseconds since its request was sent."""

import time
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from dlsp.completions import infill
from dlsp.context.build import build
from dlsp.engine.client import Engine
from examples.places import Place

# Name -> fields of the request. What `verified` owes to copied text is seen where nothing is copied.
MODES: dict[str, dict[str, Any]] = {
    "autoregressive": {"mode": "autoregressive"},
    "verified": {"mode": "verified"},
    "verified, canvas alone": {"mode": "verified", "copy": False},
    "diffusion": {"mode": "diffusion"},
}


@dataclass(frozen=True)
class Frame:
    """The canvas after a forward: text that is fixed, then positions being denoised, None for a mask."""

    ms: float
    committed: str
    canvas: list[str | None]


@dataclass(frozen=True)
class Take:
    """One run in one mode, from the request to the answer; its prompt was cached."""

    frames: list[Frame]
    ms: float
    forwards: int
    tokens: int


async def record(engine: Engine, place: Place, mode: str, session: str) -> Take:
    """One gap in one mode, its prompt prefilled beforehand."""
    before, after = place.around()
    end = infill.end_rule(before)
    context = build(place.file, before, after)
    request = infill.request(context, path=place.file, session=session, end=end, **MODES[mode])
    await engine.fill(_other(request))
    frames: list[Frame] = []
    began = time.perf_counter()
    async with aclosing(engine.infill(request)) as events:
        async for event in events:
            ms = round(1e3 * (time.perf_counter() - began), 1)
            if event["event"] == "fill":
                cost = event["cost"]
                return Take([*frames, Frame(ms, event["text"], [])], ms, cost["forwards"], cost["tokens"])
            if event["event"] == "canvas":
                frames.append(Frame(ms, event["committed"], event["canvas"]))
    raise AssertionError("the engine's client raises where an answer breaks off")


def _other(request: dict[str, Any]) -> dict[str, Any]:
    """The same prompt with a token after it that nobody would write: it is prefilled, and no answer is known of it."""
    (gap,) = request["gaps"]
    return request | {
        "gaps": [gap | {"middle": gap.get("middle", "") + "@"}],
        "mode": "autoregressive",
        "max_tokens": 1,
    }
