"""Ollama's `/api`: generate, tags, show, ps and version."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from dlsp.api import markers
from dlsp.api.answer import Answer, Options
from dlsp.api.body import Body
from dlsp.api.dialects.openai import gap_of, options_of
from dlsp.api.forms import format_of
from dlsp.api.generator import MAX_CONTEXT_TOKENS, Chat
from dlsp.api.sampling import Sampling, sampling_of, seed_of
from dlsp.api.wire import Service, json_lines

DEFAULT_MAX_TOKENS = 128
# Clients ask for at least 0.6.4 before they use what this dialect has.
VERSION = "0.12.0"
# What Ollama samples a chat by where neither a request nor the model's own settings say otherwise.
USUAL = Sampling(temperature=0.8, top_p=0.9, top_k=40)
# By `.Suffix` in the template, Continue knows that a model fills in the middle.
TEMPLATE = (
    "{{- if .Suffix }}<|fim_prefix|>{{ .Prompt }}<|fim_suffix|>{{ .Suffix }}<|fim_middle|>"
    "{{- else }}{{- if .System }}<|im_start|>system\n{{ .System }}<|im_end|>\n{{ end }}"
    "<|im_start|>user\n{{ .Prompt }}<|im_end|>\n<|im_start|>assistant\n{{ end }}"
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
    pieces = _written(service, body, prompt, suffix)
    if body.flag("stream", True):
        return await json_lines(_lines(reply, pieces))
    (answer,) = [piece async for piece in pieces if isinstance(piece, Answer)]
    return JSONResponse(last(reply, answer) | {"response": answer.text})


def _written(service: Service, body: Body, prompt: str, suffix: str) -> AsyncGenerator[str | Answer]:
    """What is written: a gap's text where there is a suffix, or a prompt that is raw or was templated by the client;
    else a chat's answer, since Ollama puts the prompt into the model's template."""
    if suffix or body.flag("raw") or markers.parse(prompt):
        options = options_of(body.inner("options"), DEFAULT_MAX_TOKENS, "num_predict")
        return service.completer.stream(gap_of(prompt, suffix or None), options)
    system = body.text("system")
    messages = ({"role": "system", "content": system},) if system else ()
    chat = Chat((*messages, {"role": "user", "content": prompt}))
    options = replace(chat_options(body.inner("options")), constraint=format_of(body, chat))
    return service.generator.text(chat, options)


def chat_options(options: Body) -> Options:
    """How a chat's answer is written. Without a limit it may be as long as the model's context."""
    limit = options.whole("num_predict", -1)
    return Options(
        max_tokens=limit if limit > 0 else MAX_CONTEXT_TOKENS,
        sampling=sampling_of(options, USUAL),
        seed=seed_of(options),
        stop=options.texts("stop"),
    )


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
