"""llama.cpp's server: `/infill`, `/completion`, `/props` and `/slots`, as llama.vim and llama.vscode use it."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dlsp import __version__
from dlsp.api import markers
from dlsp.api.answer import Answer
from dlsp.api.body import Body, Refused
from dlsp.api.completer import File, Gap
from dlsp.api.dialects import openai
from dlsp.api.dialects.openai import MAX_CHOICES, options_of
from dlsp.api.wire import Service, server_sent

DEFAULT_MAX_TOKENS = 128


async def infill(service: Service, body: Body, request: Request) -> Response:
    for name in ("input_prefix", "input_suffix"):
        if name not in body:
            raise Refused(400, f"`{name}` is missing.", name)
    before = body.text("input_prefix") + body.text("prompt")
    files = tuple(File(each.text("filename"), each.text("text")) for each in body.each("input_extra"))
    return await _answered(service, body, Gap(before, body.text("input_suffix"), None, files))


async def completion(service: Service, body: Body, request: Request) -> Response:
    raw = body.raw("prompt")
    prompt = body.inner("prompt").text("prompt_string") if isinstance(raw, dict) else "".join(body.texts("prompt"))
    return await _answered(service, body, markers.parse(prompt) or Gap(prompt))


async def completions(service: Service, body: Body, request: Request) -> Response:
    """`/completions` without `/v1`: llama.cpp's own where the body has its `n_predict`, else OpenAI's."""
    return await (completion if "n_predict" in body else openai.completions)(service, body, request)


async def props(service: Service, body: Body, request: Request) -> Response:
    return JSONResponse(
        {
            "default_generation_settings": {"n_ctx": service.context, "params": {}},
            "total_slots": 1,
            "model_path": service.model,
            "chat_template": "",
            "modalities": {"vision": False, "audio": False},
            "build_info": f"dlsp {__version__}",
        }
    )


async def slots(service: Service, body: Body, request: Request) -> Response:
    return JSONResponse([{"id": 0, "n_ctx": service.context, "is_processing": False}])


async def _answered(service: Service, body: Body, gap: Gap) -> Response:
    count = body.whole("n_predict", DEFAULT_MAX_TOKENS)
    if count == 0:  # the prompt is only to be read
        await service.completer.prefill(gap)
        return JSONResponse(_shown(_reply(service, Answer("", "length")), body))
    limit_ms = body.number("t_max_predict_ms", 0, 0)
    options = replace(
        options_of(body, DEFAULT_MAX_TOKENS, "n_predict"),
        indent=body.whole("n_indent", 0, 0),
        limit_s=limit_ms / 1000 if limit_ms else None,
    )
    if body.flag("stream"):
        return await server_sent(_events(service, service.completer.stream(gap, options), body), end=None)
    answers = await service.completer.answers(gap, options, body.whole("n_cmpl", 1, 1, MAX_CHOICES))
    replies = [_shown(_reply(service, answer), body) for answer in answers]
    return JSONResponse(replies if len(replies) > 1 else replies[0])


async def _events(service: Service, pieces: AsyncGenerator[str | Answer], body: Body) -> AsyncGenerator[dict[str, Any]]:
    async for piece in pieces:
        if isinstance(piece, str):
            yield {"index": 0, "content": piece, "tokens": [], "stop": False}
        else:
            yield _shown(_reply(service, piece) | {"index": 0, "content": ""}, body)


def _reply(service: Service, answer: Answer) -> dict[str, Any]:
    limited = answer.reason == "length"
    read = answer.prompt_tokens - answer.cached_tokens
    return {
        "content": answer.text,
        "tokens": [],
        "id_slot": 0,
        "stop": True,
        "stop_type": "limit" if limited else "word" if answer.word else "eos",
        "stopping_word": answer.word,
        "model": service.model,
        "tokens_predicted": answer.token_count,
        "tokens_evaluated": answer.prompt_tokens,
        "tokens_cached": answer.cached_tokens,
        "truncated": False,
        "has_new_line": "\n" in answer.text,
        "generation_settings": {},
        "timings": {
            "cache_n": answer.cached_tokens,
            **_times("prompt", read, answer.prefill_ms),
            **_times("predicted", answer.token_count, answer.decode_ms),
        },
    }


def _times(kind: str, count: int, ms: float) -> dict[str, float]:
    return {
        f"{kind}_n": count,
        f"{kind}_ms": ms,
        f"{kind}_per_token_ms": ms / count if count else 0.0,
        f"{kind}_per_second": 1000 * count / ms if ms else 0.0,
    }


def _shown(reply: dict[str, Any], body: Body) -> dict[str, Any]:
    """The fields that `response_fields` names: "a/b" is `b` inside `a`, under its flat name. All without it."""
    wanted = body.texts("response_fields")
    if not wanted:
        return reply
    shown: dict[str, Any] = {}
    for name in wanted:
        value: Any = reply
        for part in name.split("/"):
            value = cast("dict[str, Any]", value).get(part) if isinstance(value, dict) else None
        if value is not None:
            shown[name] = value
    return shown
