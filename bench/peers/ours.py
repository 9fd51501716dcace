"""Our engine, in process as llama.cpp is: no HTTP on either side."""

import time
from pathlib import Path

from bench.peers.side import Ask, Missing, Reply
from dlsp.models import store


class Ours:
    """One dtype. Keeps one session, as llama.cpp keeps one slot."""

    def __init__(self, gguf: Path, dtype: str, threads: int) -> None:
        import torch

        from dlsp_engine import Engine, EngineError

        torch.set_num_threads(threads)
        try:
            self._engine = Engine.load(gguf, store.folder(), dtype=dtype)
        except EngineError as error:
            raise Missing(str(error)) from None
        self._session = self._engine.new_session()
        self.facts: dict[str, str] = {"isa": torch.backends.cpu.get_cpu_capability()}

    def answer(self, ask: Ask, mode: str) -> Reply:
        from dlsp_engine import Gap, Options

        gap = Gap(ask.prefix, ask.suffix, ask.middle)
        options = Options(mode=mode, end=ask.end, max_tokens=ask.max_tokens)
        if ask.fresh:
            self._session = self._engine.new_session()
        elif ask.max_tokens == 1:
            # What comes next must find the prompt and no answer: one that was given is drafted again.
            self._session = self._engine.prefilled(gap, self._session)
        began = time.perf_counter()
        fill = self._engine.fill(gap, options, self._session)
        milliseconds = 1e3 * (time.perf_counter() - began)
        cost = fill.cost
        return Reply(fill.text, cost.tokens, cost.prompt_tokens, cost.cached_tokens, milliseconds)
