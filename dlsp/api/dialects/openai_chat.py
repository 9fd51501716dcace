"""OpenAI's `/v1/chat/completions`, with Inception's `diffusing` streams."""

from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dlsp.api import edit_prompts, edits
from dlsp.api.answer import Answer, Options
from dlsp.api.best import best, chat_check, effort_of
from dlsp.api.body import Body
from dlsp.api.calls import Call, CallReader
from dlsp.api.dialects.openai import MAX_CHOICES, usage
from dlsp.api.forms import form_of
from dlsp.api.generator import MAX_CONTEXT_TOKENS, Chat, Piece
from dlsp.api.messages import chat_of, names_of
from dlsp.api.sampling import GREEDY, Sampling, sampling_of, seed_of
from dlsp.api.wire import Service, new_id, now_s, server_sent

PATHS = ("/v1/chat/completions", "/chat/completions", "/v1beta/chat/completions")
# What Qwen publishes for its models: servers of open models sample so where a request says nothing.
USUAL = Sampling(temperature=0.7, top_p=0.8, top_k=20)


@dataclass(frozen=True)
class Asked:
    """What a request says beside its chat and options. `told` says whether log-probabilities are: with `alternatives`
    each token's list of likely tokens holds the token itself."""

    names: frozenset[str]
    most_calls: int | None
    told: bool
    alternatives: bool
    with_usage: bool
    diffusing: bool

    def reader(self) -> CallReader:
        return CallReader(self.names, self.most_calls)


async def chat(service: Service, body: Body, request: Request) -> Response:
    wanted = chat_of(body)
    options = replace(chat_options(body), constraint=form_of(body, wanted))
    if body.raw("tool_choice") == "none":
        wanted = Chat(wanted.messages)
    effort = effort_of(body)
    count = body.whole("n", 1, 1, MAX_CHOICES // effort.alternatives)
    asked = _asked(body, wanted)
    reply = {"id": new_id("chatcmpl"), "created": now_s(), "model": body.text("model") or service.model}
    check = chat_check(service.generator, wanted)
    edit = edit_prompts.of_message(wanted.messages[-1]["content"])
    if edit:
        find = partial(_edited, service, edit, chat_options(body, GREEDY, edits.DEFAULT_MAX_TOKENS), count)
    else:
        find = partial(best, partial(service.generator.answers, wanted), check, options, count, effort)
    if body.flag("stream"):
        as_it_comes = effort.alternatives == 1 and not edit
        steps = service.generator.stream(wanted, options, count) if as_it_comes else _at_once(find())
        return await server_sent(_chunks(reply | {"object": "chat.completion.chunk"}, steps, count, asked))
    answers = await find()
    choices = [_choice(number, answer, asked) for number, answer in enumerate(answers)]
    return JSONResponse(reply | {"object": "chat.completion", "choices": choices, "usage": chat_usage(answers)})


def chat_options(body: Body, usual: Sampling = USUAL, most_tokens: int = MAX_CONTEXT_TOKENS) -> Options:
    """How the answer is written; without a limit in the request it has at most `most_tokens`."""
    name = "max_completion_tokens" if "max_completion_tokens" in body else "max_tokens"
    return Options(
        max_tokens=body.whole(name, most_tokens, 1),
        sampling=sampling_of(body, usual),
        seed=seed_of(body),
        stop=body.texts("stop"),
        mode=effort_of(body).mode,
    )


def chat_usage(answers: Sequence[Answer]) -> dict[str, Any]:
    """The tokens of answers to one prompt, which counts once."""
    told = usage(answers)
    read, wrote = answers[0].prompt_tokens, told["completion_tokens"]
    cached = {"cached_tokens": answers[0].cached_tokens}
    return told | {"prompt_tokens": read, "total_tokens": read + wrote, "prompt_tokens_details": cached}


def _asked(body: Body, wanted: Chat) -> Asked:
    return Asked(
        names=names_of(wanted),
        most_calls=None if body.flag("parallel_tool_calls", True) else 1,
        told=body.flag("logprobs"),
        alternatives=body.whole("top_logprobs", 0, 0, 20) > 0,
        with_usage=body.inner("stream_options").flag("include_usage"),
        diffusing=body.flag("diffusing"),
    )


def _choice(index: int, answer: Answer, asked: Asked) -> dict[str, Any]:
    content, calls = asked.reader().end(answer.text)
    message: dict[str, Any] = {"role": "assistant", "content": content or None if calls else content, "refusal": None}
    if calls:
        message["tool_calls"] = [_call(call) for call in calls]
    return {"index": index, "message": message} | _ending(answer, bool(calls), asked)


def _ending(answer: Answer, has_calls: bool, asked: Asked) -> dict[str, Any]:
    reason = "tool_calls" if has_calls and answer.reason == "stop" else answer.reason
    return {"logprobs": _logprobs(answer, asked) if asked.told else None, "finish_reason": reason}


def _call(call: Call) -> dict[str, Any]:
    return {"id": new_id("call"), "type": "function", "function": {"name": call.name, "arguments": call.json}}


def _logprobs(answer: Answer, asked: Asked) -> dict[str, Any]:
    """Those of the tokens that were chosen: the engine tells no others."""
    tokens = [{"token": text, "logprob": log_p, "bytes": list(text.encode())} for text, log_p in answer.tokens]
    content = [each | {"top_logprobs": [each] if asked.alternatives else []} for each in tokens]
    return {"content": content, "refusal": None}


async def _chunks(
    reply: dict[str, Any], steps: AsyncGenerator[tuple[int, Piece | Answer]], count: int, asked: Asked
) -> AsyncGenerator[dict[str, Any]]:
    """The answers' chunks as they come. The first of each has the role, and the last why it ended."""
    choices = [_Streamed(number, asked) for number in range(count)]
    answers: list[Answer] = []
    async with aclosing(steps):
        async for number, step in steps:
            if isinstance(step, Answer):
                answers.append(step)
            for chunk in choices[number].read(step):
                yield reply | chunk
    if asked.with_usage:
        yield reply | {"choices": [], "usage": chat_usage(answers)}


async def _edited(service: Service, edit: edits.EditPrompt, options: Options, count: int) -> list[Answer]:
    return [await service.editor.replied(edit, options)] * count


async def _at_once(answers: Awaitable[list[Answer]]) -> AsyncGenerator[tuple[int, Piece | Answer]]:
    """Answers that are known only when they are whole, as a stream."""
    for number, answer in enumerate(await answers):
        yield number, Piece(answer.text)
        yield number, answer


class _Streamed:
    """One choice of a stream."""

    def __init__(self, index: int, asked: Asked) -> None:
        self._index, self._asked, self._reader = index, asked, asked.reader()
        self._text, self._content, self._calls, self._begun = "", "", 0, False

    def read(self, step: Piece | Answer) -> list[dict[str, Any]]:
        """The chunks of the next step."""
        if isinstance(step, Piece):
            self._text += step.text
            content, calls = self._reader.read(self._text)
        else:
            content, calls = self._reader.end(step.text)
        self._content += content
        chunks: list[dict[str, Any]] = []
        if self._asked.diffusing:
            chunks += self._drafted(step)
        elif content:
            chunks.append(self._chunk({"content": content}))
        for call in calls:
            chunks += [self._chunk({"tool_calls": [piece]}) for piece in _pieces(self._calls, call)]
            self._calls += 1
        if isinstance(step, Answer):
            chunks.append(self._chunk({}, _ending(step, self._calls > 0, self._asked)))
        return chunks

    def _drafted(self, step: Piece | Answer) -> list[dict[str, Any]]:
        """A chunk in Inception's form: the whole content so far, and what is drafted behind it, which later steps
        replace. The progress is the share of it that is final."""
        canvas = step.canvas if isinstance(step, Piece) and self._content == self._text else ()
        draft = "".join(each for each in canvas if each)
        whole = self._content + draft
        progress = len(self._content) / len(whole) if whole else 0.0
        meta = {"diffusion_content": True, "diffusion_progress": round(progress, 3)}
        return [self._chunk({"content": whole, "tool_calls": []}) | {"diffusion_meta": meta}] if whole else []

    def _chunk(self, delta: dict[str, Any], ending: dict[str, Any] | None = None) -> dict[str, Any]:
        if not self._begun or self._asked.diffusing:
            delta = {"role": "assistant"} | delta
        if not self._begun:
            delta = {"content": None if "tool_calls" in delta else ""} | delta
            self._begun = True
        choice = {"index": self._index, "delta": delta, "finish_reason": None}
        return {"choices": [choice | (ending or {})]}


def _pieces(index: int, call: Call) -> list[dict[str, Any]]:
    """The two pieces of a call: whose it is, then its arguments."""
    whole = _call(call)
    first = whole | {"index": index, "function": {"name": call.name, "arguments": ""}}
    return [first, {"index": index, "function": {"arguments": call.json}}]
