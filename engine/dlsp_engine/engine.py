"""The engine in one process: a model and a tokenizer, requests made of gaps and sites, and the steps they share."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import torch

from dlsp_engine.backend import GreedyStep, RowsStep
from dlsp_engine.costs import faster_dense, remembered
from dlsp_engine.decode.answer import Fill
from dlsp_engine.decode.budget import FIRST_ACCEPTANCE, Acceptance, Costs
from dlsp_engine.decode.draft import Drafter
from dlsp_engine.decode.session import MIN_COPIED_ROWS, Session
from dlsp_engine.decode.verify import Drafting
from dlsp_engine.errors import EngineError
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.gpu import device as devices
from dlsp_engine.model.qwen2 import Model, Qwen2
from dlsp_engine.model.weights import Weights
from dlsp_engine.options import Options
from dlsp_engine.request import GapRequest, Request
from dlsp_engine.site import Site, SiteRequest
from dlsp_engine.text.prompt import Gap, Prompt, prompt
from dlsp_engine.text.tokenizer import QwenTokenizer, Tokenizer
from dlsp_engine.threads import using

DTYPES = ("auto", "int8", "bfloat16", "float32")

ADAPTERS = Path(__file__).parent / "adapters"

STEP_ROWS = 128  # of a step at most, so that a newer request never waits long
PREFILL_RESERVED_ROWS = 32  # of a step that prompts share with answers: however many these are, prompts go on

AnyRequest = TypeVar("AnyRequest", bound=Request)


class Engine:
    """Makes requests of gaps and sites, and steps them. `costs` are those of a step on this machine.

    `update` is the version of the infill update in the weights, empty for none; `no_canvas` says why a canvas adapter
    that is there is not used.
    """

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        costs: Costs = Costs(),  # noqa: B008 - frozen
        dtype: str = "float32",
        update: str = "",
        no_canvas: str = "",
    ) -> None:
        self.model = model
        self.backend = model.backend(costs)
        self.dtype = dtype
        self.update = update
        self.no_canvas = no_canvas
        self.tokenizer = tokenizer
        # Without an adapter canvases mean nothing.
        first = FIRST_ACCEPTANCE if any(model.adapter.layers) else (0.0,)
        self.acceptance = Acceptance(list(first))
        self.site_acceptance = Acceptance(list(first))  # what is copied there stands more often

    @classmethod
    def load(
        cls,
        gguf: Path,
        cache: Path,
        dtype: str = "auto",
        adapter: bool = True,
        device: str = "auto",
        infill_update: bool = True,
    ) -> "Engine":
        """Map the converted weights of a GGUF file, converting it first if needed, with the infill update and the
        canvas adapter shipped for it. An adapter that was not trained or measured on these weights is left out.

        `device` is one of `devices.DEVICES`: `auto` takes an NVIDIA GPU if there is one. The dtype `auto` is bfloat16
        there; on a CPU int8, the fastest wherever it was measured, else whichever dense type is faster. Raises
        EngineError with a sentence for the user.
        """
        # They take what nothing else here does: a GGUF reader, file locks, LLVM.
        from dlsp_engine.model.convert import converted, update_in
        from dlsp_engine.model.int8 import Int8Qwen2
        from dlsp_engine.model.int8_file import stored
        from dlsp_engine.model.update import Update, mismatch
        from dlsp_kernels.int8_linear.kinds import best

        device = devices.resolve(device)
        if dtype not in DTYPES:
            raise EngineError(f"dtype '{dtype}' is not one of {', '.join(DTYPES)}.")
        if not gguf.is_file():
            raise EngineError(f"There is no model at {gguf}; run `dlsp model pull`.")
        update = Update.beside(ADAPTERS, gguf) if infill_update else None
        folder, int8 = converted(gguf, cache, update=update), best()
        if not update_in(folder):
            update = None
        if dtype == "auto":
            dtype = "bfloat16" if device != "cpu" else "int8" if int8 else faster_dense()
        dense = torch.float32 if dtype == "float32" else torch.bfloat16
        weights = Weights.load(folder, dense)
        shipped = ADAPTERS / f"{gguf.stem}.safetensors"
        low_rank, no_canvas = None, ""
        if adapter and shipped.exists():
            low_rank = Adapter.load(shipped, gguf.name, weights.architecture, dense)
            no_canvas = mismatch(low_rank, shipped, update)
            low_rank = None if no_canvas else low_rank
        with ThreadPoolExecutor(1) as beside:
            tokenizer = beside.submit(_tokenizer, folder)
            if device != "cpu":
                model: Model = devices.load(weights, low_rank, device, dtype)
            elif dtype != "int8":
                model = Qwen2(weights, low_rank)
            elif int8:
                low_rank = low_rank or Adapter.none(weights.embedding, weights.architecture)
                model = Int8Qwen2(weights, low_rank, stored(folder, weights, low_rank, int8))
            else:
                raise EngineError("This machine has no int8 matmul; set dtype to 'bfloat16' or 'float32'.")
        costs = remembered(model, f"{gguf.stem} {dtype}{'' if device == 'cpu' else ' ' + device}", cache / "costs.json")
        return cls(model, tokenizer.result(), costs, dtype, update.metadata["version"] if update else "", no_canvas)

    def new_session(self) -> Session:
        """One that knows nothing yet."""
        return Session(self.model.new_cache())

    def prompt(self, asked: Gap | Site) -> Prompt:
        """The prompt of a gap, or of a site with the edit in sight."""
        return prompt(asked if isinstance(asked, Gap) else asked.gap, self.tokenizer)

    def request(
        self,
        gap: Gap,
        options: Options,
        session: Session | None = None,
        drafter: Drafter | None = None,
        opening: Prompt | None = None,
    ) -> GapRequest:
        """`opening` is the gap's `prompt`, where the caller has it already."""
        session, opening = session or self.new_session(), opening or self.prompt(gap)
        return GapRequest(gap, opening, options, session, self.tokenizer, self._drafting(self.acceptance), drafter)

    def site_request(
        self, site: Site, options: Options, session: Session | None = None, opening: Prompt | None = None
    ) -> SiteRequest:
        session, opening = session or self.new_session(), opening or self.prompt(site)
        return SiteRequest(site, opening, options, session, self.tokenizer, self._drafting(self.site_acceptance))

    def _drafting(self, acceptance: Acceptance) -> Drafting:
        return Drafting(self.backend.costs, acceptance, self.model.adapter.bigrams, self.model.alternatives)

    def step(self, requests: Sequence[AnyRequest], sharing: int | None = None) -> list[AnyRequest]:
        """One step for as many requests as fit (`share_step`), in their order; returns those."""
        batch = share_step(requests, self.backend.drafts, sharing)
        for request, _ in batch:
            request.start()
        results = self.backend.step([step for _, step in batch])
        with using(1):  # more would gain little, and spin beside the next step
            for (request, step), result in zip(batch, results, strict=True):
                request.take(step, result)
        stepped = [request for request, _ in batch]
        for request in requests:
            request.left_out = 0 if request in stepped else request.left_out + 1
        for request in requests:  # who waited for the prompt of one that is done will not see it again
            request.borrow(other.session for other in stepped if other is not request and other.done)
        return stepped

    def fill(
        self,
        gap: Gap,
        options: Options = Options(),  # noqa: B008 - frozen
        session: Session | None = None,
        drafter: Drafter | None = None,
        watch: Callable[[GapRequest], None] | None = None,
    ) -> Fill:
        """One gap from start to end; `watch` is called after every step."""
        request = self.request(gap, options, session, drafter)
        while not request.done:
            self.step([request])
            if watch:
                watch(request)
        return request.outcome()

    def fill_many(
        self, gaps: Sequence[Gap], variants: Sequence[Options], width: int = 16
    ) -> Iterator[tuple[int, int, Fill]]:
        """(gap index, variant index, fill) as they finish, `width` requests a step.

        A gap is prefilled once for all its variants, from where its prompt parts from the gap's before. Times are
        those of shared steps: good for quality, not for latency. Steps are planned as if each request were alone, so
        that tau is what one gap has.
        """
        session = self.new_session()
        waiting = deque(enumerate(gaps))
        running: dict[GapRequest, tuple[int, int]] = {}
        ready: deque[tuple[int, int, GapRequest]] = deque()
        while waiting or ready or running:
            while len(running) < width and (waiting or ready):
                if not ready:
                    number, gap = waiting.popleft()
                    session = self.prefilled(gap, session)
                    for index, options in enumerate(variants):
                        ready.append((number, index, self.request(gap, options, session.copy())))
                number, index, request = ready.popleft()
                running[request] = (number, index)
            for request in self.step(list(running), sharing=1):
                if request.done:
                    number, index = running.pop(request)
                    yield number, index, request.outcome()

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


def share_step(
    requests: Sequence[AnyRequest], backend_drafts: bool = False, sharing: int | None = None
) -> list[tuple[AnyRequest, RowsStep | GreedyStep]]:
    """Each request's part of the next step: at most STEP_ROWS rows in all, unless one request alone needs more.

    Answers take a few rows each, those that were left out longest first; prompts take what is left, and at
    least PREFILL_RESERVED_ROWS. A prompt that begins like one before it waits until that
    one is prefilled and copies its rows. Each request plans as if `sharing` sessions shared the step's cost, by default
    those that do. What a backend that drafts can do by itself comes beside these rows.
    """
    greedy = [(one, step) for one in requests if (step := one.plan_greedy())] if backend_drafts else []
    by_itself = {one for one, _ in greedy}
    others = [one for one in requests if one not in by_itself]
    prefilling = [one for one in others if one.prefilling]
    decoding = [one for one in others if not one.prefilling]
    decoding.sort(key=lambda one: -one.left_out)
    if sharing is None:
        # Beside another's prompt every row takes the place of one of the prompt's.
        sharing = STEP_ROWS if prefilling and len(others) > 1 else len(others)
    batch: list[tuple[AnyRequest, RowsStep | GreedyStep]] = []
    room = STEP_ROWS
    for request in [*decoding, *prefilling]:
        reserved = PREFILL_RESERVED_ROWS if prefilling and not request.prefilling else 0
        if room - reserved < 1:
            continue
        request.borrow(other.session for other in requests if other is not request)
        if request.prefilling and any(_prefills_the_same(before, request) for before, _ in batch):
            continue
        step = request.plan(room, sharing, separate_prefill=backend_drafts)
        if not batch or len(step.rows) <= room - reserved:
            batch.append((request, step))
            room -= len(step.rows)
    return [*greedy, *batch]


def _prefills_the_same(before: Request, request: Request) -> bool:
    """Whether `before` is about to prefill rows that `request` needs too."""
    shared = before.session.shares(request.session)
    return before.prefilling and shared >= request.session.cache.length + MIN_COPIED_ROWS
