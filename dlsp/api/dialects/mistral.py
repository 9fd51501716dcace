"""`/v1/fim/completions` of Mistral (Codestral) and of Inception (Mercury), in one reply: clients of the first read
`message.content`, those of the second `text`.
"""

from collections.abc import AsyncGenerator, Awaitable
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dlsp.api.answer import Answer
from dlsp.api.best import best, effort_of, gap_check
from dlsp.api.body import Body
from dlsp.api.dialects.openai import gap_of, options_of, usage
from dlsp.api.wire import Service, new_id, now_s, server_sent

DEFAULT_MAX_TOKENS = 512
PATHS = ("/v1/fim/completions", "/fim/completions")


async def fim(service: Service, body: Body, request: Request) -> Response:
    gap = gap_of(body.text("prompt"), body.text("suffix"))
    options = options_of(body, DEFAULT_MAX_TOKENS, seed_name="random_seed" if "random_seed" in body else "seed")
    effort = effort_of(body)
    options = replace(options, mode=effort.mode)
    reply = {"id": new_id("fim"), "created": now_s(), "model": body.text("model") or service.model}
    check = gap_check(service.generator, gap)
    find = partial(best, partial(service.completer.answers, gap), check, options, 1, effort)
    if body.flag("stream"):
        pieces = service.completer.stream(gap, options) if effort.alternatives == 1 else _at_once(find())
        return await server_sent(_chunks(reply | {"object": "chat.completion.chunk"}, pieces))
    (answer,) = await find()
    message = {"role": "assistant", "content": answer.text, "tool_calls": None}
    choice = {"index": 0, "message": message, "text": answer.text, "finish_reason": answer.reason}
    return JSONResponse(reply | {"object": "chat.completion", "choices": [choice], "usage": usage([answer])})


async def _at_once(answers: Awaitable[list[Answer]]) -> AsyncGenerator[str | Answer]:
    """An answer that is known only when it is whole, as a stream."""
    (answer,) = await answers
    yield answer.text
    yield answer


async def _chunks(reply: dict[str, Any], pieces: AsyncGenerator[str | Answer]) -> AsyncGenerator[dict[str, Any]]:
    def chunk(text: str, reason: str | None) -> dict[str, Any]:
        delta = {"role": "assistant", "content": text}
        return reply | {"choices": [{"index": 0, "delta": delta, "text": text, "finish_reason": reason}]}

    async for piece in pieces:
        if isinstance(piece, str):
            yield chunk(piece, None)
        else:
            yield chunk("", piece.reason) | {"usage": usage([piece])}
