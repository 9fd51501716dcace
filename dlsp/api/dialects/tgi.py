"""Hugging Face's text-generation-inference: `/generate` and `/generate_stream`, the root path for both, `/info`."""

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
    return JSONResponse(await _whole(service, body))


async def generate_stream(service: Service, body: Body, request: Request) -> Response:
    return await server_sent(_events(service.completer.stream(*_asked(body))), end=None)


async def root(service: Service, body: Body, request: Request) -> Response:
    """As its own Python client asks: a list with the answer, or with `stream` the events."""
    if body.flag("stream"):
        return await generate_stream(service, body, request)
    return JSONResponse([await _whole(service, body)])


async def info(service: Service, body: Body, request: Request) -> Response:
    limit = service.context
    told = {"max_input_tokens": limit, "max_input_length": limit, "max_total_tokens": limit}
    return JSONResponse({"model_id": service.model} | told)


def error(status: int, sentence: str, field: str | None = None) -> dict[str, Any]:
    return {"error": sentence, "error_type": "validation" if status < 500 else "overloaded"}


async def _whole(service: Service, body: Body) -> dict[str, Any]:
    answer = await service.completer.answer(*_asked(body))
    parameters = body.inner("parameters")
    text = body.text("inputs") + answer.text if parameters.flag("return_full_text") else answer.text
    if not parameters.flag("details"):
        return {"generated_text": text}
    tokens = [_token(each, log_p) for each, log_p in answer.tokens]
    return {"generated_text": text, "details": _details(answer) | {"prefill": list[Any](), "tokens": tokens}}


def _token(text: str, log_p: float) -> dict[str, Any]:
    """A token. The engine tells no ids."""
    return {"id": 0, "text": text, "logprob": log_p, "special": False}


def _details(answer: Answer) -> dict[str, Any]:
    reason = "length" if answer.reason == "length" else "stop_sequence" if answer.word else "eos_token"
    return {"finish_reason": reason, "generated_tokens": answer.token_count, "seed": None}


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
        event = {"index": index, "token": _token(text, 0.0) | {"special": not isinstance(piece, str)}}
        index += 1
        if isinstance(piece, str):
            yield event | {"generated_text": None, "details": None}
        else:
            yield event | {"generated_text": piece.text, "details": _details(piece)}
