"""The engine in one process: a model, a tokenizer, and steps over jobs."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import torch

from dlsp_engine.costs import faster_dense, remembered
from dlsp_engine.decode.answer import Cost
from dlsp_engine.decode.budget import Acceptance, Costs
from dlsp_engine.decode.session import Session
from dlsp_engine.decode.verified import Drafter
from dlsp_engine.errors import EngineError
from dlsp_engine.job import Job
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.convert import converted
from dlsp_engine.model.int8 import COMPILED, Int8Qwen2
from dlsp_engine.model.int8_file import stored
from dlsp_engine.model.qwen2 import Model, Qwen2
from dlsp_engine.model.weights import Weights
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap
from dlsp_engine.text.tokenizer import QwenTokenizer, Tokenizer
from dlsp_kernels.int8_linear.onednn import levels

STEP_ROWS = 128
"""A step is at most this wide, so that a newer request never waits long."""

DTYPES = ("auto", "int8", "bfloat16", "float32")

ADAPTERS = Path(__file__).parent / "adapters"


@dataclass(frozen=True)
class Fill:
    """The answer to one gap. `tokens` are the committed ones, the end token left out."""

    text: str
    reason: str
    tokens: tuple[int, ...]
    cost: Cost


class Engine:
    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        costs: Costs = Costs(),  # noqa: B008 - frozen
        dtype: str = "float32",
    ) -> None:
        self.model = model
        self.dtype = dtype
        self.tokenizer = tokenizer
        self.costs = costs
        # Without an adapter canvases mean nothing.
        self.acceptance = Acceptance() if any(model.adapter.layers) else Acceptance(canvas=[0.0])

    @classmethod
    def load(cls, gguf: Path, cache: Path, dtype: str = "auto", adapter: bool = True) -> "Engine":
        """Map the converted weights of a GGUF file, converting it first if needed, with the adapter shipped for it.

        `auto` takes int8, the fastest wherever it was measured, else whichever dense type is faster here. Raises
        EngineError with a sentence for the user.
        """
        if dtype not in DTYPES:
            raise EngineError(f"dtype '{dtype}' is not one of {', '.join(DTYPES)}.")
        if not gguf.is_file():
            raise EngineError(f"There is no model at {gguf}; run `dlsp model pull`.")
        folder, finest = converted(gguf, cache), levels()
        if dtype == "auto":
            dtype = "int8" if finest else faster_dense()
        dense = torch.float32 if dtype == "float32" else torch.bfloat16
        weights = Weights.load(folder, dense)
        shipped = ADAPTERS / f"{gguf.stem}.safetensors"
        low_rank = None
        if adapter and shipped.exists():
            low_rank = Adapter.load(shipped, gguf.name, weights.architecture, dense)
        with ThreadPoolExecutor(1) as beside:
            tokenizer = beside.submit(_tokenizer, folder)
            if dtype != "int8":
                model: Model = Qwen2(weights, low_rank)
            elif finest:
                beside.submit(import_module, COMPILED)
                low_rank = low_rank or Adapter.none(weights.embedding, weights.architecture)
                model = Int8Qwen2(weights, low_rank, stored(folder, weights, low_rank, finest))
            else:
                raise EngineError("This build of PyTorch has no int8 matmul; set dtype to 'bfloat16' or 'float32'.")
        costs = remembered(model, f"{gguf.stem} {dtype}", cache / "costs.json")
        return cls(model, tokenizer.result(), costs, dtype)

    def new_session(self) -> Session:
        return Session(self.model.new_cache())

    def job(self, gap: Gap, options: Options, session: Session | None = None, drafter: Drafter | None = None) -> Job:
        session = session or self.new_session()
        return Job(gap, options, session, self.tokenizer, self.costs, self.acceptance, drafter)

    def step(self, jobs: Sequence[Job]) -> list[Job]:
        """One forward for the first jobs whose rows fit into STEP_ROWS; returns the jobs that were in it."""
        batch, planned, rows = [], [], 0
        for job in jobs:
            plan = job.plan()
            if batch and rows + len(plan) > STEP_ROWS:
                break
            batch.append((job.session.cache, plan))
            planned.append(job)
            rows += len(plan)
        for job in planned:
            job.start()
        began = time.perf_counter()
        hidden = self.model.forward(batch)
        scored, start = [], 0
        for _, plan in batch:
            scored += [start + row for row in plan.scored]
            start += len(plan)
        logits = self.model.head(hidden[scored]) if scored else hidden[:0]
        taken = 0
        milliseconds = 1e3 * (time.perf_counter() - began)
        for job, (_, plan) in zip(planned, batch, strict=True):
            job.take(len(plan), logits[taken : taken + len(plan.scored)], milliseconds)
            taken += len(plan.scored)
        return planned

    def fill(
        self,
        gap: Gap,
        options: Options = Options(),  # noqa: B008 - frozen
        session: Session | None = None,
        drafter: Drafter | None = None,
        watch: Callable[[Job], None] | None = None,
    ) -> Fill:
        """One gap from start to end; `watch` is called after every step."""
        job = self.job(gap, options, session, drafter)
        while not job.done:
            self.step([job])
            if watch:
                watch(job)
        return finished(job)

    def fill_many(
        self, gaps: Sequence[Gap], variants: Sequence[Options], width: int = 16
    ) -> Iterator[tuple[int, int, Fill]]:
        """(gap index, variant index, fill) as they finish, `width` jobs a step.

        A gap is prefilled once for all its variants, from where its prompt parts from the gap's before. Times are
        those of shared steps: good for quality, not for latency.
        """
        session = self.new_session()
        waiting = deque(enumerate(gaps))
        running: dict[Job, tuple[int, int]] = {}
        ready: deque[tuple[int, int, Job]] = deque()
        while waiting or ready or running:
            while len(running) < width and (waiting or ready):
                if not ready:
                    number, gap = waiting.popleft()
                    session = self.prefilled(gap, session)
                    for index, options in enumerate(variants):
                        ready.append((number, index, self.job(gap, options, session.copy())))
                number, index, job = ready.popleft()
                running[job] = (number, index)
            for job in self.step(list(running)):
                if job.done:
                    number, index = running.pop(job)
                    yield number, index, finished(job)

    def prefilled(self, gap: Gap, near: Session | None = None) -> Session:
        """A session that knows the gap's prompt and no answer yet, from where the prompt parts from `near`'s."""
        session = near.copy() if near else self.new_session()
        job = self.job(gap, Options(mode="autoregressive", max_tokens=1), session)
        while session.prefill():
            self.step([job])
        return session


def finished(job: Job) -> Fill:
    answer = job.answer
    return Fill(answer.text, answer.reason or "cancelled", tuple(answer.tokens), job.cost)


def _tokenizer(folder: Path) -> Tokenizer:
    """With what healing looks up, which takes a moment to build."""
    tokenizer = QwenTokenizer(folder)
    tokenizer.completions(b" ")
    return tokenizer
