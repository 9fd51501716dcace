"""Hugging Face's text-generation-inference: `/generate`, `/generate_stream` and `/info`."""

from collections.abc import AsyncGenerator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dlsp.api import markers
from dlsp.api.answer import Answer, Options
from dlsp.api.body import Body
from dlsp.api.completer import Gap
from dlsp.api.sampling import GREEDY, Sampling, sampling_of, seed_of
from dlsp.api.wire import Service, server_sent

DEFAULT_MAX_TOKENS = 100
# With `do_sample`; without it everything is greedy, whatever else a request says.
SAMPLED = Sampling(temperature=1.0)


async def generate(service: Service, body: Body, request: Request) -> Response:
    answer = await service.completer.answer(*_asked(body))
    whole = body.inner("parameters").flag("return_full_text")
    return JSONResponse({"generated_text": body.text("inputs") + answer.text if whole else answer.text})


async def generate_stream(service: Service, body: Body, request: Request) -> Response:
    return await server_sent(_events(service.completer.stream(*_asked(body))), end=None)


async def info(service: Service, body: Body, request: Request) -> Response:
    limit = service.context
    told = {"max_input_tokens": limit, "max_input_length": limit, "max_total_tokens": limit}
    return JSONResponse({"model_id": service.model} | told)


def error(status: int, sentence: str, field: str | None = None) -> dict[str, Any]:
    return {"error": sentence, "error_type": "validation" if status < 500 else "overloaded"}


def _asked(body: Body) -> tuple[Gap, Options]:
    prompt, parameters = body.text("inputs"), body.inner("parameters")
    limit = parameters.whole("max_new_tokens", DEFAULT_MAX_TOKENS)
    options = Options(
        max_tokens=limit if limit > 0 else DEFAULT_MAX_TOKENS,
        sampling=sampling_of(parameters, SAMPLED) if parameters.flag("do_sample") else GREEDY,
        seed=seed_of(parameters),
        stop=tuple(each for each in parameters.texts("stop") if not markers.special(each)),
    )
    return markers.parse(prompt) or Gap(prompt), options


async def _events(pieces: AsyncGenerator[str | Answer]) -> AsyncGenerator[dict[str, Any]]:
    """One event a piece of text; the last, which has none, carries the whole text."""
    index = 0
    async for piece in pieces:
        text = piece if isinstance(piece, str) else ""
        event = {"index": index, "token": {"id": 0, "text": text, "logprob": 0.0, "special": False}}
        index += 1
        if isinstance(piece, str):
            yield event | {"generated_text": None, "details": None}
        else:
            reason = "length" if piece.reason == "length" else "eos_token"
            details = {"finish_reason": reason, "generated_tokens": piece.token_count, "seed": None}
            yield event | {"generated_text": piece.text, "details": details}
