"""Our engine, in process as llama.cpp is: no HTTP on either side."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.command import weights_cache
from bench.peers.side import Ask, Missing, Reply, Several

if TYPE_CHECKING:
    from dlsp_engine import Options
    from dlsp_engine.request import GapRequest

# The second checks copied n-grams and lays no canvas: what an autoregressive engine can do without ours.
MODES: dict[str, dict[str, Any]] = {
    "autoregressive": {"mode": "autoregressive"},
    "autoregressive n-gram": {"mode": "verified", "draft": 0},
    "verified": {"mode": "verified"},
    "diffusion": {"mode": "diffusion"},
}

# Modes that mean nothing without a canvas adapter.
CANVAS = ("verified", "diffusion")


class Ours:
    """One dtype of the weights as published, which the other sides read too. Keeps one session, as llama.cpp keeps one
    slot.
    """

    def __init__(self, gguf: Path, dtype: str, threads: int) -> None:
        import torch

        from dlsp_engine import Engine, EngineError

        torch.set_num_threads(threads)
        try:
            self._engine = Engine.load(
                gguf, weights_cache(dtype, infill_update=False), dtype=dtype, infill_update=False
            )
        except EngineError as error:
            raise Missing(str(error)) from None
        self._session = self._engine.new_session()
        self.facts: dict[str, str] = {"isa": torch.backends.cpu.get_cpu_capability()}

    def answer(self, ask: Ask, mode: str) -> Reply:
        from dlsp_engine import Gap
        from dlsp_engine.decode.ends import line_end

        gap = Gap(ask.prefix, ask.suffix, ask.middle)
        if ask.fresh:
            self._session = self._engine.new_session()
        elif ask.max_tokens == 1:
            self._session = self._engine.prefilled(gap, self._session)
        # What comes after a lone token is to find the prompt, and not that token: it would be drafted again.
        session = self._session.copy() if ask.max_tokens == 1 and not ask.fresh else self._session
        first: float | None = None
        began = time.perf_counter()

        def watch(request: "GapRequest") -> None:
            nonlocal first
            if first is None and line_end(request.answer.text) is not None:
                first = 1e3 * (time.perf_counter() - began)

        fill = self._engine.fill(gap, _options(ask, mode), session, watch=watch if ask.watched else None)
        milliseconds = 1e3 * (time.perf_counter() - began)
        cost = fill.cost
        line = (first or milliseconds) if ask.watched else None
        return Reply(fill.text, cost.tokens, cost.prompt_tokens, cost.cached_tokens, milliseconds, line)

    def together(self, asks: Sequence[Ask], mode: str) -> Several:
        """By the scheduler that the engine's process has."""
        from dlsp_engine import EngineError, Gap
        from dlsp_engine.serve.scheduler import Scheduler, Ticket

        ended: list[tuple[float, Any]] = []
        all_ended = threading.Event()

        def on_end(outcome: Any) -> None:
            ended.append((time.perf_counter(), outcome))
            if len(ended) == len(asks):
                all_ended.set()

        scheduler = Scheduler(self._engine)
        began = time.perf_counter()
        for ask in asks:
            gap = Gap(ask.prefix, ask.suffix, ask.middle)
            scheduler.submit(Ticket(gap, _options(ask, mode), 0, lambda request: None, on_end))
        all_ended.wait()
        scheduler.close()
        scheduler.join()
        times = [1e3 * (at - began) for at, _ in ended]
        tokens = 0
        for _, outcome in ended:
            if isinstance(outcome, str):
                raise EngineError(outcome)
            tokens += outcome.cost.tokens
        return Several(min(times), max(times), tokens)


def _options(ask: Ask, mode: str) -> "Options":
    from dlsp_engine import Options

    return Options(**MODES[mode], end=ask.end, max_tokens=ask.max_tokens)
