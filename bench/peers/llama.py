"""llama.cpp: its server within the process, by the wheel `xllamacpp`."""

import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.peers.side import Ask, Missing, Reply
from dlsp_engine.decode.ends import line_end

CONTEXT = 4096
NGRAM, LONGEST = 3, 8
"""As our own copier has them; llama.cpp's defaults, 12 and 48, seldom find anything within a line."""

GREEDY = {"temperature": 0, "samplers": ["top_k"], "top_k": 1}


class Llama:
    def __init__(self, gguf: Path, ngram: bool, threads: int) -> None:
        try:
            xllamacpp: Any = import_module("xllamacpp")  # a compiled module without types
        except ImportError:
            raise Missing("xllamacpp is not installed: run `pip install -e '.[bench]'`.") from None

        params = xllamacpp.CommonParams()
        params.model.path = str(gguf)
        params.n_ctx, params.n_parallel = CONTEXT, 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.fit_params = False  # it would choose another context by the memory that is free
        params.cache_ram_mib = 0  # one slot keeps one prompt, as our one session does
        params.ui, params.verbosity = False, -1
        if ngram:
            params.speculative.types = [xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE]
            params.speculative.ngram_simple.size_n = NGRAM
            params.speculative.ngram_simple.size_m = LONGEST
        try:
            self._server = xllamacpp.Server(params)
        except RuntimeError:
            raise Missing(f"llama.cpp cannot load {gguf}.") from None
        features = xllamacpp.get_system_info().partition(":")[2].split("|")
        on = [name.strip() for name, _, value in (one.partition("=") for one in features) if value.strip() == "1"]
        self.facts: dict[str, str] = {"version": xllamacpp.__version__, "isa": " ".join(on)}

    def answer(self, ask: Ask, mode: str) -> Reply:
        if ask.end == "token":
            return self._whole(ask, [])
        reply = self._whole(ask, ["\n"])
        # A stop text cannot say "after text that is not blank". Where the answer began with a line break, it is
        # asked again and watched; watching costs some 1% of a token's time, so the others are spared it.
        return reply if reply.text.strip() else self._watched(ask, reply)

    def _whole(self, ask: Ask, stop: list[str]) -> Reply:
        began = time.perf_counter()
        answer = self._server.handle_completions(_request(ask, stop=stop))
        milliseconds = 1e3 * (time.perf_counter() - began)
        timings = _checked(answer)["timings"]
        return Reply(
            text=answer["choices"][0]["text"],
            tokens=timings["predicted_n"],
            prompt=timings["cache_n"] + timings["prompt_n"],
            cached=timings["cache_n"],
            milliseconds=milliseconds,
        )

    def _watched(self, ask: Ask, like: Reply) -> Reply:
        pieces: list[str] = []
        ended = began = time.perf_counter()

        def watch(chunk: dict[str, Any]) -> bool:
            nonlocal ended
            pieces.append(_checked(chunk)["choices"][0]["text"])
            ended = time.perf_counter()
            return line_end("".join(pieces)) is not None

        self._server.handle_completions(_request(ask, stream=True), watch)
        text = "".join(pieces)
        return replace(like, text=text[: line_end(text)], tokens=len(pieces), milliseconds=1e3 * (ended - began))


def _request(ask: Ask, **more: Any) -> dict[str, Any]:
    asked = {"prompt": list(ask.tokens), "max_tokens": ask.max_tokens, "cache_prompt": not ask.fresh}
    return GREEDY | asked | more


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        raise RuntimeError(f"llama.cpp refused a request: {answer['error'].get('message', answer['error'])}.")
    return answer
