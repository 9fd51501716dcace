"""llama.cpp's server as its editors' plugins use it: `/infill`, `/completion`, tokens, chat prompts, what it is."""

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
from dlsp.api.generator import MAX_CONTEXT_TOKENS, Parts
from dlsp.api.messages import chat_of
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
    """A templated gap is filled. Any other text is completed as code; with control tokens in it, or as token numbers,
    it is a prompt that the model goes on from as it stands."""
    raw = body.raw("prompt")
    if isinstance(raw, list) and any(isinstance(each, int) for each in cast("list[Any]", raw)):
        return await _continued(service, body, _parts(cast("list[Any]", raw)))
    prompt = body.inner("prompt").text("prompt_string") if isinstance(raw, dict) else "".join(body.texts("prompt"))
    if gap := markers.parse(prompt):
        return await _answered(service, body, gap)
    if markers.CONTROL.search(prompt):
        found = await service.generator.tokens({"prompt": prompt, "control": True})
        return await _continued(service, body, tuple(found["tokens"]))
    return await _answered(service, body, Gap(prompt))


async def completions(service: Service, body: Body, request: Request) -> Response:
    """`/completions` without `/v1`: llama.cpp's own where the body has its `n_predict`, else OpenAI's."""
    return await (completion if "n_predict" in body else openai.completions)(service, body, request)


async def tokenize(service: Service, body: Body, request: Request) -> Response:
    asked = {"prompt": body.text("content"), "control": body.flag("parse_special", True)}
    found: dict[str, Any] = {"tokens": [], "pieces": []}
    if asked["prompt"]:
        found = await service.generator.tokens(asked)
    if not body.flag("with_pieces"):
        return JSONResponse({"tokens": found["tokens"]})
    pairs = zip(found["tokens"], found["pieces"], strict=True)
    return JSONResponse({"tokens": [{"id": token, "piece": piece} for token, piece in pairs]})


async def detokenize(service: Service, body: Body, request: Request) -> Response:
    raw = body.raw("tokens")
    if not isinstance(raw, list) or not all(isinstance(each, int) for each in cast("list[Any]", raw)):
        raise Refused(400, "`tokens` must be a list of token numbers.", "tokens")
    return JSONResponse({"content": (await service.generator.tokens({"prompt": raw}))["text"] if raw else ""})


async def apply_template(service: Service, body: Body, request: Request) -> Response:
    chat = chat_of(body)
    asked = {"messages": list(chat.messages)} | ({"tools": list(chat.tools)} if chat.tools else {})
    return JSONResponse({"prompt": (await service.generator.tokens(asked))["text"]})


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


def _parts(raw: list[Any]) -> Parts:
    if not all(isinstance(each, int | str) and not isinstance(each, bool) for each in raw):
        raise Refused(400, "`prompt` must be text, or a list of texts and token numbers.", "prompt")
    return tuple(raw)


async def _continued(service: Service, body: Body, prompt: Parts) -> Response:
    options = options_of(body, MAX_CONTEXT_TOKENS, "n_predict")
    if body.whole("n_predict", -1) == 0:
        options = replace(options, max_tokens=1)
    if body.flag("stream"):
        return await server_sent(_events(service, service.generator.text(prompt, options), body), end=None)
    (answer,) = await service.generator.answers(prompt, options)
    return JSONResponse(_shown(_reply(service, answer), body))


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
