"""The engine in one process: a model, a tokenizer, and steps over jobs."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from dlsp_engine.batch import AnyJob, pack
from dlsp_engine.costs import faster_dense, remembered
from dlsp_engine.decode.answer import Fill
from dlsp_engine.decode.budget import FIRST_ACCEPTANCE, Acceptance, Costs
from dlsp_engine.decode.draft import Drafter
from dlsp_engine.decode.session import Session
from dlsp_engine.decode.verify import Drafting
from dlsp_engine.device import step_on_device
from dlsp_engine.errors import EngineError
from dlsp_engine.job import GapJob
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.gpu import choose
from dlsp_engine.model.gpu.loop import Loop
from dlsp_engine.model.gpu.step import GpuQwen2
from dlsp_engine.model.qwen2 import Model, Qwen2
from dlsp_engine.model.weights import Weights
from dlsp_engine.options import Options
from dlsp_engine.site import Site, SiteJob
from dlsp_engine.text.prompt import Gap, prompt
from dlsp_engine.text.tokenizer import QwenTokenizer, Tokenizer
from dlsp_engine.threads import using

DTYPES = ("auto", "int8", "bfloat16", "float32")

ADAPTERS = Path(__file__).parent / "adapters"


class Engine:
    """Makes jobs of gaps and sites, and steps them. `costs` are those of a step on this machine."""

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        costs: Costs = Costs(),  # noqa: B008 - frozen
        dtype: str = "float32",
    ) -> None:
        self.model = model
        self._loop = Loop(model) if isinstance(model, GpuQwen2) else None
        self.dtype = dtype
        self.tokenizer = tokenizer
        self.costs = costs
        # Without an adapter canvases mean nothing.
        first = FIRST_ACCEPTANCE if any(model.adapter.layers) else (0.0,)
        self.acceptance = Acceptance(list(first))
        self.site_acceptance = Acceptance(list(first))  # what is copied there stands more often

    @classmethod
    def load(cls, gguf: Path, cache: Path, dtype: str = "auto", adapter: bool = True, device: str = "auto") -> "Engine":
        """Map the converted weights of a GGUF file, converting it first if needed, with the adapter shipped for it.

        `device` is one of `choose.DEVICES`: `auto` takes an NVIDIA GPU if there is one. The dtype `auto` is bfloat16
        there; on a CPU int8, the fastest wherever it was measured, else whichever dense type is faster. Raises
        EngineError with a sentence for the user.
        """
        # They take what nothing else here does: a GGUF reader, file locks, LLVM.
        from dlsp_engine.model.convert import converted
        from dlsp_engine.model.int8 import Int8Qwen2
        from dlsp_engine.model.int8_file import stored
        from dlsp_kernels.int8_linear.choose import best

        device = choose.resolve(device)
        if dtype not in DTYPES:
            raise EngineError(f"dtype '{dtype}' is not one of {', '.join(DTYPES)}.")
        if not gguf.is_file():
            raise EngineError(f"There is no model at {gguf}; run `dlsp model pull`.")
        folder, int8 = converted(gguf, cache), best()
        if dtype == "auto":
            dtype = "bfloat16" if device != "cpu" else "int8" if int8 else faster_dense()
        dense = torch.float32 if dtype == "float32" else torch.bfloat16
        weights = Weights.load(folder, dense)
        shipped = ADAPTERS / f"{gguf.stem}.safetensors"
        low_rank = None
        if adapter and shipped.exists():
            low_rank = Adapter.load(shipped, gguf.name, weights.architecture, dense)
        with ThreadPoolExecutor(1) as beside:
            tokenizer = beside.submit(_tokenizer, folder)
            if device != "cpu":
                model: Model = choose.load(weights, low_rank, device, dtype)
            elif dtype != "int8":
                model = Qwen2(weights, low_rank)
            elif int8:
                low_rank = low_rank or Adapter.none(weights.embedding, weights.architecture)
                model = Int8Qwen2(weights, low_rank, stored(folder, weights, low_rank, int8))
            else:
                raise EngineError("This machine has no int8 matmul; set dtype to 'bfloat16' or 'float32'.")
        costs = remembered(model, f"{gguf.stem} {dtype}{'' if device == 'cpu' else ' ' + device}", cache / "costs.json")
        return cls(model, tokenizer.result(), costs, dtype)

    @property
    def replaced(self) -> dict[str, str]:
        """Kernels that do not work here and run by their slow version, and why."""
        return self.model.failures if isinstance(self.model, GpuQwen2) else {}

    def warm_up(self) -> None:
        """Compile and capture what a GPU's usual steps are made of, so that no request waits for it."""
        if self._loop:
            self._loop.model.warm_up()
            self._loop.warm_up(Options().draft)

    def new_session(self) -> Session:
        """One that knows nothing yet."""
        return Session(self.model.new_cache())

    def job(self, gap: Gap, options: Options, session: Session | None = None, drafter: Drafter | None = None) -> GapJob:
        session = session or self.new_session()
        return GapJob(gap, options, session, self.tokenizer, self._drafting(self.acceptance), drafter)

    def site_job(self, site: Site, options: Options, session: Session | None = None) -> SiteJob:
        session = session or self.new_session()
        return SiteJob(site, options, session, self.tokenizer, self._drafting(self.site_acceptance))

    def _drafting(self, acceptance: Acceptance) -> Drafting:
        return Drafting(self.costs, acceptance, self.model.adapter.bigrams, self.model.alternatives)

    def step(self, jobs: Sequence[AnyJob], sharing: int | None = None) -> list[AnyJob]:
        """One forward for as many jobs as `batch.pack` takes rows of, in their order; returns those jobs.

        Jobs that the device can step by itself (`step_on_device`) share forwards of their own before.
        """
        stepped = step_on_device(self._loop, jobs) if self._loop else []
        rest = [job for job in jobs if job not in stepped]
        return [*stepped, *(self._step(rest, sharing, stepped) if rest else [])]

    def _step(self, jobs: Sequence[AnyJob], sharing: int | None, beside: Sequence[AnyJob]) -> list[AnyJob]:
        began = time.perf_counter()
        planned = pack(jobs, sharing, beside, apart=self._loop is not None)  # the loop takes what is asked
        for job, _ in planned:
            job.start()
        scored, start = [], 0
        for _, rows in planned:
            scored += [start + row for row in rows.scored]
            start += len(rows)
        with using(self.costs.threads_for(start)):
            hidden = self.model.forward([(job.session.cache, rows) for job, rows in planned])
            logits = self.model.head(hidden[scored]) if scored else hidden[:0]
        milliseconds = 1e3 * (time.perf_counter() - began)
        taken = 0
        with using(1):  # more would gain little, and spin beside the next step
            for job, rows in planned:
                job.take(len(rows), logits[taken : taken + len(rows.scored)], milliseconds)
                taken += len(rows.scored)
        for job in jobs:  # who waited for the prompt of one that is done will not see it again
            job.borrow(other.session for other, _ in planned if other is not job and other.done)
        return [job for job, _ in planned]

    def fill(
        self,
        gap: Gap,
        options: Options = Options(),  # noqa: B008 - frozen
        session: Session | None = None,
        drafter: Drafter | None = None,
        watch: Callable[[GapJob], None] | None = None,
    ) -> Fill:
        """One gap from start to end; `watch` is called after every step."""
        job = self.job(gap, options, session, drafter)
        while not job.done:
            self.step([job])
            if watch:
                watch(job)
        return job.outcome()

    def fill_many(
        self, gaps: Sequence[Gap], variants: Sequence[Options], width: int = 16
    ) -> Iterator[tuple[int, int, Fill]]:
        """(gap index, variant index, fill) as they finish, `width` jobs a step.

        A gap is prefilled once for all its variants, from where its prompt parts from the gap's before. Times are
        those of shared steps: good for quality, not for latency. Steps are planned as if each job were alone, so that
        tau is what one gap has.
        """
        session = self.new_session()
        waiting = deque(enumerate(gaps))
        running: dict[GapJob, tuple[int, int]] = {}
        ready: deque[tuple[int, int, GapJob]] = deque()
        while waiting or ready or running:
            while len(running) < width and (waiting or ready):
                if not ready:
                    number, gap = waiting.popleft()
                    session = self.prefilled(gap, session)
                    for index, options in enumerate(variants):
                        ready.append((number, index, self.job(gap, options, session.copy())))
                number, index, job = ready.popleft()
                running[job] = (number, index)
            for job in self.step(list(running), sharing=1):
                if job.done:
                    number, index = running.pop(job)
                    yield number, index, job.outcome()

    def prefilled(self, gap: Gap, near: Session | None = None) -> Session:
        """A session with the gap's prompt cached and no answer; what the prompt shares with `near`'s is copied."""
        known = prompt(gap, self.tokenizer).tokens
        session = near.fork(known) if near else self.new_session()
        session.advance(known)
        while rows := session.prefill():
            self.model.forward([(session.cache, rows)])
            session.extend([], len(rows))
        return session


def _tokenizer(folder: Path) -> Tokenizer:
    """With what healing looks up, which takes a moment to build."""
    tokenizer = QwenTokenizer(folder)
    tokenizer.completions(b" ")
    return tokenizer
