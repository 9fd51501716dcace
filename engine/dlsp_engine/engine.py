"""The engine without its server: a model, a tokenizer, requests for gaps, sites and rewrites, and the steps that they
share.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

import torch

from dlsp_engine.costs import remembered
from dlsp_engine.decode.answer import Fill
from dlsp_engine.decode.budget import FIRST_ACCEPTANCE, Acceptance, Costs
from dlsp_engine.decode.draft import Drafter
from dlsp_engine.decode.session import Session
from dlsp_engine.decode.verify import Drafting
from dlsp_engine.errors import EngineError
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.convention import WHOLE
from dlsp_engine.model.gpu import device as devices
from dlsp_engine.model.qwen2 import Model, Qwen2
from dlsp_engine.model.weights import Weights
from dlsp_engine.options import TEXT_END, Options
from dlsp_engine.request import GapRequest
from dlsp_engine.rewrite import RewriteRequest
from dlsp_engine.shared_step import AnyRequest, share_step
from dlsp_engine.site import Site, SiteRequest
from dlsp_engine.text.chat import Chat, Generation, Writing, prompt_tokens, template_in
from dlsp_engine.text.edit_formats.named import checked
from dlsp_engine.text.edit_formats.own import OWN
from dlsp_engine.text.grammars import Grammars
from dlsp_engine.text.prompt import Gap, Prompt, prompt, prompt_around
from dlsp_engine.text.rewrite import Rewrite
from dlsp_engine.text.tokenizer import ModelTokenizer, Tokenizer
from dlsp_engine.threads import using

DTYPES = ("auto", "int4", "int8", "bfloat16", "float32")

ADAPTERS = Path(__file__).parent / "adapters"


class Engine:
    """Creates requests for gaps, sites and rewrites, and runs their steps. `costs` are those of a step on this machine.

    `update` is the version of the infill update in the weights, empty for none. `no_update` and `no_canvas` say why an
    infill update and a canvas adapter that were found are not used, and are empty otherwise.
    """

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        costs: Costs = Costs(),  # noqa: B008 - frozen
        dtype: str = "float32",
        update: str = "",
        no_canvas: str = "",
        no_update: str = "",
        edit_format: str = "",
    ) -> None:
        """`edit_format` names the format in which others trained the model to write windows anew; empty if nobody did.
        Raises EngineError if the vocabulary lacks what that needs.
        """
        self.model = model
        self.backend = model.backend(costs)
        self.dtype = dtype
        self.update = update
        self.no_canvas = no_canvas
        self.no_update = no_update
        if model.shape.convention.suffix_first:
            tokenizer.template = tokenizer.template.with_suffix_first()
        self.tokenizer = tokenizer
        self.edit_format = checked(edit_format, tokenizer.added)
        # Without an adapter the model cannot denoise canvases: no token of theirs is expected to be accepted.
        first = FIRST_ACCEPTANCE if model.adapter.has_updates else (0.0,)
        self.acceptance = Acceptance(list(first))
        # Apart, since drafts at sites are accepted more often, and those in chats seldom.
        self.site_acceptance = Acceptance(list(first))
        self.generation_acceptance = Acceptance(list(first))
        self.rewrite_acceptance = Acceptance(list(first))
        self.gguf: Path | None = None  # the file or folder that it was loaded from
        self.weights = ""  # names the checkpoint's content and the update in it

    @classmethod
    def load(
        cls,
        gguf: Path,
        cache: Path,
        dtype: str = "auto",
        adapter: bool = True,
        device: str = "auto",
        infill_update: bool = True,
        kv: str = "auto",
        adapters: Path = ADAPTERS,
        edit_format: str = "",
    ) -> "Engine":
        """Load the model in a GGUF file or a folder of safetensors, with its tokenizer, the infill update and canvas
        adapter that ship for it, and the costs of a step, measured if needed.

        The checkpoint is converted first if needed; the converted weights are memory-mapped. In int8 the embedding is
        read from the checkpoint's own file, and no other copy of the weights is kept. A canvas adapter that was neither
        trained nor measured on these weights is left out.

        `device` is one of `devices.DEVICES`; `auto` takes an NVIDIA GPU if there is one. The dtype `auto` means
        bfloat16 on a GPU, and on a CPU what `usual` returns.

        `kv` is one of KV_FORMATS: how KV caches hold keys and values where weights are integers; `auto` takes
        `default_kv`. `adapters` is the folder of infill updates and canvas adapters. `edit_format` is as for `Engine`.
        Raises EngineError with a sentence for the user.
        """
        # Imported here because only loading needs what they import: a GGUF reader, file locks, LLVM.
        from dlsp_engine.model import edit_update
        from dlsp_engine.model.calibration import sample
        from dlsp_engine.model.convert import ABOUT, converted
        from dlsp_engine.model.dtypes import refusal, usual
        from dlsp_engine.model.hashes import content, identity, stem
        from dlsp_engine.model.int8 import Int8Qwen2
        from dlsp_engine.model.int8_file import stored
        from dlsp_engine.model.source import Description, StoredWeights
        from dlsp_engine.model.update import Update, mismatch
        from dlsp_kernels.int8_linear.kinds import best
        from dlsp_kernels.kv_format import KV_FORMATS

        device = devices.resolve(device)
        if dtype not in DTYPES:
            raise EngineError(f"dtype '{dtype}' is not one of {', '.join(DTYPES)}.")
        if not gguf.exists():
            raise EngineError(f"There is no model at {gguf}; run `dlsp model pull`.")
        update = Update.beside(adapters, gguf) if infill_update else None
        folder, int8 = converted(gguf, cache, update=update, dense=False), best()
        about = Description.load(folder / ABOUT)
        no_update = ""
        if update and not about.update:
            no_update = f"infill update {update.metadata.get('version', '')} was made for another file of this name"
            update = None
        if not about.architecture.convention.causal and (device != "cpu" or dtype in ("int8", "int4")):
            raise EngineError(
                "Diffusion checkpoints run on a CPU in bfloat16 or float32 only: set device to cpu and dtype to 'auto'."
            )
        if dtype == "auto":
            dtype = "bfloat16" if device != "cpu" else usual(about.architecture, gguf, int8)
        dense = torch.float32 if dtype == "float32" else torch.bfloat16
        shipped = adapters / f"{stem(gguf)}.safetensors"
        low_rank, no_canvas = None, ""
        if adapter and shipped.exists() and not (no_canvas := mismatch(shipped, update, content(gguf, cache))):
            low_rank = Adapter.load(shipped, gguf.name, about.architecture, dense)
        with ThreadPoolExecutor(1) as beside:
            tokenizer = beside.submit(_tokenizer, folder)
            if device == "cpu" and dtype in ("int8", "int4"):
                if not int8:
                    raise EngineError("This machine has no int8 matmul; set dtype to 'bfloat16' or 'float32'.")
                if dtype == "int4" and (why := refusal(about.architecture, int8)):
                    raise EngineError(why)
                rows = StoredWeights(gguf, about, update)
                low_rank = low_rank or Adapter.none(rows.embedding, rows.architecture)
                text = (lambda: sample(tokenizer.result())) if dtype == "int4" else None
                removal = partial(update.removal, rows.architecture, dense) if update else None
                int8_weights = stored(folder, rows, low_rank, int8, sample=text, removal=removal)
                low_rank.forget_updates()
                model: Model = Int8Qwen2(rows, low_rank, int8_weights, KV_FORMATS.get(kv))
                if edits := edit_update.beside(adapters, gguf, cache, update):
                    model.edits = edit_update.stored(folder, edits, rows, int8)
            else:
                weights = Weights.load(converted(gguf, cache, update=update), dense)
                removal = update and update.removal(weights.architecture, dense)
                if device == "cpu":
                    model = Qwen2(weights, low_rank, removal)
                else:
                    model = devices.load(weights, low_rank, device, dtype, removal)
                edits = edit_update.beside(adapters, gguf, cache, update)
                if edits and isinstance(model, Qwen2):
                    model.edits = edit_update.read(edits, about.architecture, dense)
        kind = f"{identity(gguf, cache)} {dtype}{'' if device == 'cpu' else ' ' + device}"
        costs = remembered(model, kind, cache / "costs.json")
        version = update.metadata["version"] if update else ""
        engine = cls(model, tokenizer.result(), costs, dtype, version, no_canvas, no_update, edit_format)
        engine.gguf, engine.weights = gguf, folder.name
        return engine

    def new_session(self, published: bool = False) -> Session:
        """Return a session with no tokens and an empty KV cache. If it is `published`, the infill update is taken back
        from its rows, where the model is able to do so.
        """
        session = Session(self.model.new_cache(), self.model.shape.convention)
        session.cache.published = published and self.model.removes_update
        return session

    @cached_property
    def chat(self) -> Chat | None:
        """The checkpoint's chat template; None if it has none."""
        template = template_in(self.gguf) if self.gguf else None
        added, start = self.tokenizer.added, self.tokenizer.template.start
        begin = next((name for name, number in added.items() if number in start), "")
        return Chat(template, added, begin) if template else None

    @cached_property
    def grammars(self) -> Grammars:
        """Compiles constraints for `Options.constraint`."""
        return Grammars(self.tokenizer, self.model.shape.vocab)

    def prompt(self, asked: Gap | Site | Generation | Rewrite) -> Prompt:
        """Return the prompt of a gap, that of a site with the edit in it, or that of a generation or a rewrite. Raises
        EngineError if the checkpoint is not able to do it.
        """
        if isinstance(asked, Rewrite | Site):
            self.model.shape.convention.demand_causal("judge edits or write windows anew")
        if isinstance(asked, Rewrite):
            return self.edit_format.prompt(asked, self.tokenizer)
        if isinstance(asked, Generation):
            return prompt_tokens(asked, self.tokenizer)
        gap, convention = asked if isinstance(asked, Gap) else asked.gap, self.model.shape.convention
        if convention.attention == WHOLE:
            return prompt_around(gap, self.tokenizer, convention.end)
        return prompt(gap, self.tokenizer)

    def request(
        self,
        gap: Gap,
        options: Options,
        session: Session | None = None,
        drafter: Drafter | None = None,
        opening: Prompt | None = None,
    ) -> GapRequest:
        """Return a request that fills `gap`. `opening` is the result of `prompt(gap)`, if the caller already has it."""
        session, opening = session or self.new_session(), opening or self.prompt(gap)
        if options.constraint and options.constraint.whole:  # it alone says where the answer ends
            options = replace(options, end=TEXT_END)
        return GapRequest(gap, opening, options, session, self.tokenizer, self._drafting(self.acceptance), drafter)

    def generation_request(
        self, asked: Generation, options: Options, session: Session | None = None, opening: Prompt | None = None
    ) -> GapRequest:
        """Return a request that goes on from a prompt. It sees the base as published, without the infill update: a
        session that is given must be `new_session(published=True)`. `opening` is the result of `prompt(asked)`, if the
        caller has it.
        """
        session, opening = session or self.new_session(published=True), opening or self.prompt(asked)
        assert session.cache.published == self.model.removes_update, "a session of a gap's"
        writing, options = Writing(self.tokenizer), replace(options, end=TEXT_END)
        return GapRequest(Gap("", ""), opening, options, session, writing, self._drafting(self.generation_acceptance))

    def site_request(
        self, site: Site, options: Options, session: Session | None = None, opening: Prompt | None = None
    ) -> SiteRequest:
        """Return a request that judges `site`. `opening` is the result of `prompt(site)`, if the caller has it."""
        session, opening = session or self.new_session(), opening or self.prompt(site)
        return SiteRequest(site, opening, options, session, self.tokenizer, self._drafting(self.site_acceptance))

    def rewrite_request(
        self, asked: Rewrite, options: Options, session: Session | None = None, opening: Prompt | None = None
    ) -> RewriteRequest:
        """Return a request that writes a window anew. `opening` is the result of `prompt(asked)`, if the caller has
        it.
        """
        session, opening = session or self.new_session(), opening or self.prompt(asked)
        drafting = self._drafting(self.rewrite_acceptance)
        updated, form = bool(self.model.edits), self.edit_format
        return RewriteRequest(asked, opening, options, session, self.tokenizer, drafting, updated, form)

    @property
    def writes_edits(self) -> bool:
        """Whether the model was trained to write windows anew: by an edit update, or by others in their format."""
        return bool(self.model.edits) or self.edit_format is not OWN

    def _drafting(self, acceptance: Acceptance) -> Drafting:
        return Drafting(self.backend.costs, acceptance, self.model.adapter.bigrams, self.model.alternatives)

    def step(self, requests: Sequence[AnyRequest], sharing: int | None = None, short: bool = False) -> list[AnyRequest]:
        """Run one step for as many of `requests` as fit into it, and return those that took part. See `share_step`,
        also for `sharing` and `short`.
        """
        batch = share_step(requests, self.backend.costs, self.backend.most_rows, sharing, short)
        for request, _ in batch:
            request.start()
        results = self.backend.step([step for _, step in batch])
        with using(1):  # more threads gain little, and would still spin during the next step
            for (request, step), result in zip(batch, results, strict=True):
                request.take(step, result)
        stepped = [request for request, _ in batch]
        for request in requests:
            request.left_out = 0 if request in stepped else request.left_out + 1
        for request in requests:  # the last chance to copy the prompt of a request that is done
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
        """Fill one gap from start to end and return the answer. `watch` is called after every step."""
        request = self.request(gap, options, session, drafter)
        while not request.done:
            self.step([request])
            if watch:
                watch(request)
        return request.outcome()

    def fill_many(
        self, gaps: Sequence[Gap], variants: Sequence[Options], width: int = 16
    ) -> Iterator[tuple[int, int, Fill]]:
        """Yield (gap index, variant index, fill) as the fills finish. Up to `width` requests share a step.

        Each gap's prompt is prefilled once for all variants; rows that it shares with the previous gap's prompt are
        copied. Times are those of shared steps, so use them for quality, not for latency. Each request plans its steps
        as if it were alone, so that tau is that of a gap filled alone.
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
        """Return a session with the gap's prompt in its KV cache and no answer. Rows that the prompt shares with that
        of the session `near` are copied from it.
        """
        known = self.prompt(gap).tokens
        session = near.fork(known) if near else self.new_session()
        session.advance(known)
        while rows := session.prefill(self.backend.most_rows):
            self.model.forward([(session.cache, rows)])
            session.extend([], len(rows))
        return session


def _tokenizer(folder: Path) -> Tokenizer:
    """Load the tokenizer and build its index for token healing, which takes a moment."""
    tokenizer = ModelTokenizer(folder)
    tokenizer.completions(b" ")
    return tokenizer
