"""Ollama's `/api/chat`."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dlsp.api.answer import Answer
from dlsp.api.body import Body
from dlsp.api.calls import Call, CallReader
from dlsp.api.dialects.ollama import chat_options, last, moment
from dlsp.api.forms import format_of
from dlsp.api.generator import Piece
from dlsp.api.messages import chat_of, names_of
from dlsp.api.wire import Service, json_lines


async def chat(service: Service, body: Body, request: Request) -> Response:
    reply = {"model": body.text("model") or service.model}
    if not body.raw("messages"):
        message = {"role": "assistant", "content": ""}
        loaded = {"created_at": moment(), "message": message, "done": True, "done_reason": "load"}
        return JSONResponse(reply | loaded)
    wanted = chat_of(body)
    options = replace(chat_options(body.inner("options")), constraint=format_of(body, wanted))
    names = names_of(wanted)
    if body.flag("stream", True):
        return await json_lines(_lines(reply, service.generator.stream(wanted, options), CallReader(names)))
    (answer,) = await service.generator.answers(wanted, options)
    content, calls = CallReader(names).end(answer.text)
    return JSONResponse(last(reply, answer) | _message(content, calls))


def _message(content: str, calls: tuple[Call, ...]) -> dict[str, Any]:
    called = [{"function": {"name": call.name, "arguments": call.arguments}} for call in calls]
    return {"message": {"role": "assistant", "content": content} | ({"tool_calls": called} if called else {})}


async def _lines(
    reply: dict[str, Any], steps: AsyncGenerator[tuple[int, Piece | Answer]], reader: CallReader
) -> AsyncGenerator[dict[str, Any]]:
    text = ""
    async with aclosing(steps):
        async for _, step in steps:
            if isinstance(step, Piece):
                text += step.text
                content, calls = reader.read(text)
            else:
                content, calls = reader.end(step.text)
            if content or calls:
                yield reply | {"created_at": moment(), "done": False} | _message(content, calls)
            if isinstance(step, Answer):
                yield last(reply, step) | _message("", ())
