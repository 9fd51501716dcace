"""Ollama's `/api`: generate, tags, show, ps and version."""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from dlsp.api.answer import Answer
from dlsp.api.body import Body
from dlsp.api.dialects.openai import gap_of, options_of
from dlsp.api.wire import Service, json_lines

DEFAULT_MAX_TOKENS = 128
# Clients ask for at least 0.6.4 before they use what this dialect has.
VERSION = "0.12.0"
# By `.Suffix` in the template, Continue knows that a model fills in the middle.
TEMPLATE = (
    "{{- if .Suffix }}<|fim_prefix|>{{ .Prompt }}<|fim_suffix|>{{ .Suffix }}<|fim_middle|>"
    "{{- else }}{{ .Prompt }}{{- end }}"
)


async def root(service: Service, body: Body, request: Request) -> Response:
    return PlainTextResponse("Ollama is running")


async def version(service: Service, body: Body, request: Request) -> Response:
    return JSONResponse({"version": VERSION})


async def tags(service: Service, body: Body, request: Request) -> Response:
    return JSONResponse({"models": [_model(service)]})


async def running(service: Service, body: Body, request: Request) -> Response:
    expires = datetime.fromtimestamp(2**32, UTC).isoformat()  # the engine ends by itself and is started when asked
    return JSONResponse({"models": [_model(service) | {"size_vram": 0, "expires_at": expires}]})


async def show(service: Service, body: Body, request: Request) -> Response:
    return JSONResponse(
        {
            "modelfile": f"FROM {service.model}",
            "parameters": f"num_ctx {service.context}",
            "template": TEMPLATE,
            "details": _details(service),
            "model_info": {"general.architecture": "qwen2", "qwen2.context_length": service.context},
            "capabilities": ["completion", "insert", "tools"],
            "modified_at": moment(service.started),
        }
    )


async def generate(service: Service, body: Body, request: Request) -> Response:
    prompt, suffix = body.text("prompt"), body.text("suffix")
    reply = {"model": body.text("model") or service.model}
    if not prompt and not suffix:
        return JSONResponse(reply | {"created_at": moment(), "response": "", "done": True, "done_reason": "load"})
    gap, options = gap_of(prompt, suffix or None), options_of(body.inner("options"), DEFAULT_MAX_TOKENS, "num_predict")
    if body.flag("stream", True):
        return await json_lines(_lines(reply, service.completer.stream(gap, options)))
    answer = await service.completer.answer(gap, options)
    return JSONResponse(last(reply, answer) | {"response": answer.text})


async def _lines(reply: dict[str, Any], pieces: AsyncGenerator[str | Answer]) -> AsyncGenerator[dict[str, Any]]:
    async for piece in pieces:
        if isinstance(piece, str):
            yield reply | {"created_at": moment(), "response": piece, "done": False}
        else:
            yield last(reply, piece) | {"response": ""}


def last(reply: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """The last object of an answer, without its text. Times are nanoseconds."""
    read_ns, wrote_ns = round(answer.prefill_ms * 1e6), round(answer.decode_ms * 1e6)
    return reply | {
        "created_at": moment(),
        "done": True,
        "done_reason": answer.reason,
        "total_duration": read_ns + wrote_ns,
        "load_duration": 0,
        "prompt_eval_count": answer.prompt_tokens,
        "prompt_eval_duration": read_ns,
        "eval_count": answer.token_count,
        "eval_duration": wrote_ns,
    }


def _model(service: Service) -> dict[str, Any]:
    return {
        "name": service.model,
        "model": service.model,
        "modified_at": moment(service.started),
        "size": service.size,
        "digest": service.digest,
        "details": _details(service),
    }


def _details(service: Service) -> dict[str, Any]:
    return {
        "parent_model": "",
        "format": "gguf",
        "family": "qwen2",
        "families": ["qwen2"],
        "parameter_size": service.model.rpartition("-")[2].upper(),
        "quantization_level": "Q4_K_M",
    }


def moment(at: float | None = None) -> str:
    """A time as RFC 3339, now if none is given."""
    return datetime.fromtimestamp(at, UTC).isoformat() if at else datetime.now(UTC).isoformat()
