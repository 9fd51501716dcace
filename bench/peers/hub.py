"""Hugging Face transformers: `generate` on the same weights, in bfloat16."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.as_transformers import configuration, named
from bench.command import weights_cache
from bench.peers.side import Ask, Missing, Reply, Several

if TYPE_CHECKING:
    from torch import Tensor


class Transformers:
    """Keeps the key/value cache of one prompt, cut where the next one differs, as our session does."""

    def __init__(self, gguf: Path, threads: int) -> None:
        try:
            import torch
            from transformers import DynamicCache, Qwen2ForCausalLM
            from transformers import __version__ as version
        except ImportError as error:
            raise Missing(f"transformers cannot be imported ({error}).") from None
        from dlsp_engine.model.convert import converted
        from dlsp_engine.model.weights import Weights
        from dlsp_engine.text.tokenizer import ModelTokenizer

        torch.set_num_threads(threads)
        folder = converted(gguf, weights_cache("bfloat16", infill_update=False))
        self._tokenizer = ModelTokenizer(folder)
        weights = Weights.load(folder, torch.bfloat16)
        if (family := weights.architecture.family) != "qwen2":
            raise Missing(f"its part is written for the family qwen2, and this is {family}.")
        stops = sorted(self._tokenizer.stops)
        ends = {"eos_token_id": stops, "pad_token_id": stops[0], "dtype": "bfloat16"}
        with torch.device("meta"):
            self._model: Any = Qwen2ForCausalLM(configuration(weights.architecture, **ends))
        self._model.load_state_dict(named(weights), assign=True)
        self._model.model.rotary_emb = type(self._model.model.rotary_emb)(self._model.config)  # off the meta device
        self._model.eval()
        self._new_cache = DynamicCache
        self._cache: Any = DynamicCache()
        self._known: list[int] = []
        self.facts: dict[str, str] = {"version": version, "isa": torch.backends.cpu.get_cpu_capability()}

    def answer(self, ask: Ask, mode: str) -> Reply:
        import torch

        from dlsp_engine.decode.ends import line_end

        prompt = list(ask.tokens)
        cached = 0 if ask.fresh else self._keep(prompt)
        if not cached:
            self._cache = self._new_cache()
        first: float | None = None
        began = time.perf_counter()

        def line(tokens: "Tensor", scores: Any, **more: Any) -> "Tensor":
            """Whether the first line stands: ends the answer where it is all that was asked for."""
            nonlocal first
            text = self._tokenizer.decode(tokens[0, len(prompt) :].tolist())
            stands = line_end(text) is not None
            if stands and first is None:
                first = 1e3 * (time.perf_counter() - began)
            return torch.tensor([stands and ask.end == "line"])

        out = self._model.generate(
            torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            past_key_values=self._cache,
            max_new_tokens=ask.max_tokens,
            do_sample=False,
            stopping_criteria=[line] if ask.watched or ask.end == "line" else None,
        )
        milliseconds = 1e3 * (time.perf_counter() - began)
        written = out[0, len(prompt) :].tolist()
        self._known = [*prompt, *written][: self._cache.get_seq_length()]
        text = self._tokenizer.decode([token for token in written if token not in self._tokenizer.stops])
        if ask.end == "line":
            text = text[: line_end(text)]
        stands = (first or milliseconds) if ask.watched else None
        return Reply(text, len(written), len(prompt), cached, milliseconds, stands)

    def together(self, asks: Sequence[Ask], mode: str) -> Several:
        """One after the other: prompts of several lengths would have to be padded to share a forward."""
        began, times, tokens = time.perf_counter(), [], 0
        for ask in asks:
            tokens += self.answer(ask, mode).tokens
            times.append(1e3 * (time.perf_counter() - began))
        return Several(min(times), max(times), tokens)

    def _keep(self, prompt: Sequence[int]) -> int:
        """Cut the cache to what it shares with the prompt, the last token apart; how many tokens stay."""
        from dlsp_engine.decode.session import common

        same = common(self._known, prompt[:-1])
        if same and (more := self._cache.get_seq_length() - same):
            self._cache.crop(-more)
        return same
