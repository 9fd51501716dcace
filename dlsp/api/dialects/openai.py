"""OpenAI's `/v1/completions` and `/v1/models`, also under the paths of DeepSeek, Continue and Copilot."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, TypeVar, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dlsp.api import edit_prompts, edits, markers
from dlsp.api.answer import Answer, Options
from dlsp.api.body import Body, Refused
from dlsp.api.completer import Gap
from dlsp.api.sampling import sampling_of, seed_of
from dlsp.api.wire import Service, new_id, now_s, server_sent

T = TypeVar("T")

MAX_CHOICES = 16
# What is written where a request does not say how much.
DEFAULT_MAX_TOKENS = 16
# Further paths of `completions`: DeepSeek's, as its clients write them, and Copilot's.
OTHER_PATHS = (
    "/beta/completions",
    "/v1/beta/completions",
    "/beta/v1/completions",
    "/v1/engines/{model}/completions",
)


def gap_of(prompt: str, suffix: str | None) -> Gap:
    """The gap of a prompt and a suffix. Without a suffix, the prompt may be templated with a family's markers."""
    if not suffix and (parsed := markers.parse(prompt)):
        return parsed
    return Gap(prompt, "" if suffix is None or suffix == "<|endoftext|>" else suffix)


def options_of(body: Body, default_tokens: int, limit_name: str = "max_tokens", seed_name: str = "seed") -> Options:
    """The options that several dialects name alike."""
    limit = body.whole(limit_name, default_tokens)
    return Options(
        max_tokens=limit if limit > 0 else default_tokens,
        sampling=sampling_of(body),
        seed=seed_of(body, seed_name),
        stop=tuple(each for each in body.texts("stop") if not markers.special(each)),
    )


async def completions(service: Service, body: Body, request: Request) -> Response:
    prompts = _prompts(body)
    suffix = body.text("suffix") if "suffix" in body else None
    edit = edit_prompts.of_prompt(prompts[0]) if len(prompts) == 1 and not suffix else None
    if edit:
        answer = await service.editor.replied(edit, options_of(body, edits.DEFAULT_MAX_TOKENS))
        return await _at_once(_reply(service, body, request), body, answer)
    gaps = [gap_of(prompt, suffix) for prompt in prompts]
    options = options_of(body, DEFAULT_MAX_TOKENS)
    n = body.whole("n", 1, 1, MAX_CHOICES)
    best_of = body.whole("best_of", n, n, MAX_CHOICES)
    told = body.whole("logprobs", 0, 0, 5) if "logprobs" in body else None
    echo = body.flag("echo")
    reply = _reply(service, body, request)
    if body.flag("stream"):
        if best_of > n:
            raise Refused(400, "`best_of` cannot be streamed.", "best_of")
        asked = [(prompt, gap) for prompt, gap in zip(prompts, gaps, strict=True) for _ in range(n)]
        streams = [
            service.completer.stream(gap, replace(options, seed=options.seed + number % n))
            for number, (_, gap) in enumerate(asked)
        ]
        with_usage = body.inner("stream_options").flag("include_usage")
        begins = [prompt if echo else "" for prompt, _ in asked]
        return await server_sent(_chunks(reply, streams, begins, told, with_usage))
    each = await asyncio.gather(*(service.completer.answers(gap, options, best_of) for gap in gaps))
    choices: list[dict[str, Any]] = []
    answers = [answer for some in each for answer in some]
    for prompt, some in zip(prompts, each, strict=True):
        for answer in sorted(some, key=lambda each: each.likelihood, reverse=True)[:n] if best_of > n else some:
            begin = prompt if echo else ""
            choices.append(choice(len(choices), answer, told, begin))
    return JSONResponse(reply | {"choices": choices, "usage": usage(answers)})


def _reply(service: Service, body: Body, request: Request) -> dict[str, Any]:
    """What a whole reply and each chunk of a stream begin with."""
    model = body.text("model") or request.path_params.get("model", "") or service.model
    return {"id": new_id("cmpl"), "object": "text_completion", "created": now_s(), "model": model}


async def _at_once(reply: dict[str, Any], body: Body, answer: Answer) -> Response:
    """An answer that is known only when it is whole, in a stream in one piece."""

    async def chunks() -> AsyncGenerator[dict[str, Any]]:
        yield reply | {"choices": [_piece(0, answer.text)]}
        yield reply | {"choices": [choice(0, answer, None) | {"text": ""}]}
        if body.inner("stream_options").flag("include_usage"):
            yield reply | {"choices": [], "usage": usage([answer])}

    if body.flag("stream"):
        return await server_sent(chunks())
    return JSONResponse(reply | {"choices": [choice(0, answer, None)], "usage": usage([answer])})


async def models(service: Service, body: Body, request: Request) -> Response:
    return JSONResponse({"object": "list", "data": [_model(service)]})


async def model(service: Service, body: Body, request: Request) -> Response:
    if request.path_params["model"] != service.model:
        raise Refused(404, f"There is no such model: this one is served: {service.model}.", "model")
    return JSONResponse(_model(service))


def choice(index: int, answer: Answer, told: int | None, begin: str = "") -> dict[str, Any]:
    """A whole choice. `begin` stands before its text; with `told`, its tokens' log-probabilities are added."""
    return {
        "index": index,
        "text": begin + answer.text,
        "logprobs": None if told is None else logprobs(answer, told, len(begin)),
        "finish_reason": answer.reason,
    }


def logprobs(answer: Answer, told: int, offset: int) -> dict[str, Any]:
    """The tokens' log-probabilities. The engine tells those of the chosen tokens only, not of others."""
    tokens = [token for token, _ in answer.tokens]
    offsets = [offset + sum(map(len, tokens[:number])) for number in range(len(tokens))]
    return {
        "tokens": tokens,
        "token_logprobs": [log_p for _, log_p in answer.tokens],
        "top_logprobs": [{token: log_p} for token, log_p in answer.tokens] if told else None,
        "text_offset": offsets,
    }


def usage(answers: Sequence[Answer]) -> dict[str, Any]:
    """The tokens of all answers together."""
    read, wrote = sum(each.prompt_tokens for each in answers), sum(each.token_count for each in answers)
    cached = sum(each.cached_tokens for each in answers)
    return {
        "prompt_tokens": read,
        "completion_tokens": wrote,
        "total_tokens": read + wrote,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


async def merged(streams: Sequence[AsyncGenerator[T]]) -> AsyncGenerator[tuple[int, T]]:
    """What each stream yields, with the stream's number, as it comes."""
    queue: asyncio.Queue[tuple[int, T] | None] = asyncio.Queue()

    async def drain(number: int, stream: AsyncGenerator[T]) -> None:
        async with aclosing(stream):
            async for each in stream:
                await queue.put((number, each))

    async def drain_all() -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for number, stream in enumerate(streams):
                    group.create_task(drain(number, stream))
        finally:
            await queue.put(None)

    work = asyncio.create_task(drain_all())
    try:
        while (each := await queue.get()) is not None:
            yield each
        await _raise_first(work)
    finally:
        work.cancel()


async def _raise_first(work: "asyncio.Task[None]") -> None:
    try:
        await work
    except ExceptionGroup as group:
        raise group.exceptions[0] from None


async def _chunks(
    reply: dict[str, Any],
    streams: Sequence[AsyncGenerator[str | Answer]],
    begins: Sequence[str],
    told: int | None,
    with_usage: bool,
) -> AsyncGenerator[dict[str, Any]]:
    answers: list[Answer] = []
    for number, begin in enumerate(begins):
        if begin:
            yield reply | {"choices": [_piece(number, begin)]}
    async for number, piece in _merged(streams):
        if isinstance(piece, str):
            yield reply | {"choices": [_piece(number, piece)]}
            continue
        answers.append(piece)
        last = choice(number, piece, told, begins[number]) | {"text": ""}
        yield reply | {"choices": [last]}
    if with_usage:
        yield reply | {"choices": [], "usage": usage(answers)}


async def _merged(streams: Sequence[AsyncGenerator[str | Answer]]) -> AsyncIterator[tuple[int, str | Answer]]:
    if len(streams) == 1:  # the usual case, without a queue
        async with aclosing(streams[0]) as stream:
            async for piece in stream:
                yield 0, piece
        return
    async with aclosing(merged(streams)) as pieces:
        async for each in pieces:
            yield each


def _piece(index: int, text: str) -> dict[str, Any]:
    return {"index": index, "text": text, "logprobs": None, "finish_reason": None}


def _prompts(body: Body) -> tuple[str, ...]:
    """One prompt or several. Raises Refused for token numbers."""
    raw = body.raw("prompt")
    values = cast("list[Any]", raw) if isinstance(raw, list) else []
    if any(isinstance(each, int | list) for each in values):
        raise Refused(400, "`prompt` must be text: token numbers are not taken.", "prompt")
    prompts = body.texts("prompt") or ("",)
    if len(prompts) > MAX_CHOICES:
        raise Refused(400, f"`prompt` may have at most {MAX_CHOICES} texts.", "prompt")
    return prompts


def _model(service: Service) -> dict[str, Any]:
    return {
        "id": service.model,
        "object": "model",
        "created": service.started,
        "owned_by": "llamacpp",  # by which llama.vscode knows a server that it may ask for more
        "max_model_len": service.context,
        "meta": {"n_ctx_train": service.context, "size": service.size},
    }
