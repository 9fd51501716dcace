"""llama.cpp: its server within the process, by the wheel `xllamacpp`."""

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from bench.peers.side import Ask, Missing, Reply, Several
from dlsp_engine.decode.ends import line_end

CONTEXT = 4096
# As our own copier has them; llama.cpp's defaults, 12 and 48, seldom find anything within a line.
NGRAM, LONGEST = 3, 8

GREEDY = {"temperature": 0, "samplers": ["top_k"], "top_k": 1}


def facts(xllamacpp: Any) -> dict[str, str]:
    """The version of the compiled module, and the instruction sets that it is built for."""
    features = xllamacpp.get_system_info().partition(":")[2].split("|")
    on = [name.strip() for name, _, value in (one.partition("=") for one in features) if value.strip() == "1"]
    return {"version": xllamacpp.__version__, "isa": " ".join(on)}


class Llama:
    """`context` is what each of the `slots` holds, in tokens."""

    def __init__(self, gguf: Path, ngram: bool, threads: int, context: int = CONTEXT, slots: int = 1) -> None:
        try:
            xllamacpp: Any = import_module("xllamacpp")  # a compiled module without types
        except ImportError:
            raise Missing("xllamacpp is not installed: run `pip install -e '.[bench]'`.") from None

        params = xllamacpp.CommonParams()
        params.model.path = str(gguf)
        params.n_ctx, params.n_parallel = context * slots, slots
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
        self.facts = facts(xllamacpp)

    def answer(self, ask: Ask, mode: str) -> Reply:
        if ask.end == "token":
            return self._watched(ask) if ask.watched else self._whole(ask, [])
        reply = self._whole(ask, ["\n"])
        # A stop text cannot say "after text that is not blank". Where the answer began with a line break, it is
        # asked again and watched; watching costs some 1% of a token's time, so the others are spared it.
        if reply.text.strip():
            return reply
        watched = self._watched(ask, stop=True)
        return replace(watched, prompt=reply.prompt, cached=reply.cached)

    def together(self, asks: Sequence[Ask], mode: str) -> Several:
        began = time.perf_counter()

        def one(ask: Ask) -> tuple[float, int]:
            reply = self.answer(ask, mode)
            return 1e3 * (time.perf_counter() - began), reply.tokens

        with ThreadPoolExecutor(len(asks)) as pool:
            ended = list(pool.map(one, asks))
        times = [at for at, _ in ended]
        return Several(min(times), max(times), sum(tokens for _, tokens in ended))

    def greedy(self, prompt: Sequence[int], most: int) -> list[int]:
        """The tokens that it goes on with, at most so many; by HTTP, since its function does not give their numbers."""
        asked = GREEDY | {"prompt": list(prompt), "n_predict": most, "return_tokens": True, "cache_prompt": False}
        body = json.dumps(asked).encode()
        request = Request(f"{self._server.listening_address}/completion", body, {"Content-Type": "application/json"})
        with urlopen(request, timeout=180) as answer:
            return json.load(answer)["tokens"]

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

    def _watched(self, ask: Ask, stop: bool = False) -> Reply:
        """The answer as it streams, up to the end of the first line where `stop` says so."""
        pieces: list[str] = []
        ended = began = time.perf_counter()
        first: float | None = None
        timings: dict[str, Any] = {}

        def watch(chunk: dict[str, Any]) -> bool:
            nonlocal ended, first, timings
            pieces.append(_checked(chunk)["choices"][0]["text"])
            timings = chunk.get("timings", timings)  # the last one has them
            ended = time.perf_counter()
            line = line_end("".join(pieces)) is not None
            if line and first is None:
                first = 1e3 * (ended - began)
            return stop and line

        self._server.handle_completions(_request(ask, stream=True), watch)
        text, milliseconds = "".join(pieces), 1e3 * (ended - began)
        return Reply(
            text=text[: line_end(text)] if stop else text,
            tokens=timings.get("predicted_n", len(pieces)),
            prompt=len(ask.tokens),
            cached=timings.get("cache_n", 0),
            milliseconds=milliseconds,
            first_line=first or milliseconds,
        )


def _request(ask: Ask, **more: Any) -> dict[str, Any]:
    asked = {"prompt": list(ask.tokens), "max_tokens": ask.max_tokens, "cache_prompt": not ask.fresh}
    return GREEDY | asked | more


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        raise RuntimeError(f"llama.cpp refused a request: {answer['error'].get('message', answer['error'])}.")
    return answer
