"""Inception's (Mercury's) `/v1/edit/completions` and `/v1/apply/completions`."""

import re
from collections.abc import AsyncGenerator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dlsp.api import edits
from dlsp.api.answer import Answer, Options
from dlsp.api.body import Body, Refused
from dlsp.api.dialects.openai_chat import chat_options, chat_usage
from dlsp.api.edits import Edit
from dlsp.api.messages import chat_of
from dlsp.api.sampling import GREEDY
from dlsp.api.wire import Service, new_id, now_s, server_sent

EDIT_PATHS = ("/v1/edit/completions", "/edit/completions")
APPLY_PATHS = ("/v1/apply/completions", "/apply/completions")
FEEDBACK_PATHS = ("/v1/feedback", "/feedback", "/v1/edit/completions/feedback")
CURSOR = "<|cursor|>"
APPLY = (
    "You merge code. You are given a file and an update of parts of it. Write the whole file again, with these parts "
    "as in the update and everything else as it was. Never write a comment like `... existing code ...`: write the "
    "code that it stands for. Answer with the file alone, in one fence."
)
_SNIPPET = re.compile(r"<\|recently_viewed_code_snippet\|>(.*?)<\|/recently_viewed_code_snippet\|>", re.DOTALL)
# A comment in an update for what stays as it is.
_STAYS = re.compile(r"\.\.\.\s*(?:existing|rest of|remaining|unchanged)\b[^\n]*", re.IGNORECASE)


async def edit(service: Service, body: Body, request: Request) -> Response:
    """Answer with the region as it should be, in a fence; as it is where nothing better is known."""
    asked = parse_edit(_message(body))
    found = await service.editor.written(asked, _options(body))
    return await _reply(service, body, f"```\n{found.region}\n```", found.answer)


async def apply(service: Service, body: Body, request: Request) -> Response:
    """Answer with the whole file, merged by the chat model."""
    message = _message(body)
    original, update = _section(message, "original_code"), _section(message, "update_snippet")
    if original is None or update is None:
        raise Refused(400, "`messages` needs `<|original_code|>` and `<|update_snippet|>`, each closed.", "messages")
    prompt = f"The file:\n```\n{original}\n```\n\nThe update:\n```\n{update}\n```"
    answer = await edits.asked(service.generator, APPLY, prompt, _options(body))
    if answer.reason == "length":
        raise Refused(422, "The merged file is longer than `max_tokens`: give more.", "max_tokens")
    merged = edits.bare(answer.text)
    if _loses(original, update, merged):
        raise Refused(422, "The model did not merge the update with the file: apply it by hand.", "messages")
    return await _reply(service, body, merged, answer)


async def feedback(service: Service, body: Body, request: Request) -> Response:
    """What the user did with an edit: taken and not kept."""
    return JSONResponse({})


def parse_edit(message: str) -> Edit:
    """The parts of an edit's message. Raises Refused without a region."""
    region, current = _section(message, "code_to_edit"), _section(message, "current_file_content")
    if region is None or current is None:
        raise Refused(
            400, "`messages` needs `<|current_file_content|>` with `<|code_to_edit|>` in it, each closed.", "messages"
        )
    before, _, rest = current.partition("<|code_to_edit|>")
    path, before = _named(before, "current_file_path")
    after = rest.partition("<|/code_to_edit|>")[2]
    found = _SNIPPET.findall(message)
    snippets = tuple(_named(each, "code_snippet_file_path") for each in found)
    changes = _section(message, "edit_diff_history") or ""
    return Edit(path, before, region.replace(CURSOR, ""), after, changes, snippets)


def _loses(original: str, update: str, merged: str) -> bool:
    """Whether a merged file still has a comment for what stays, or lacks most of a file of which some should stay."""
    partial = bool(_STAYS.search(update))
    lines = len(merged.split("\n")) < edits.MIN_KEPT * len(original.split("\n"))
    return not merged.strip() or (bool(_STAYS.search(merged)) and not _STAYS.search(original)) or (partial and lines)


def _section(message: str, name: str) -> str | None:
    """The text between the marks of this name, without the line ends beside them; None if there are none."""
    found = re.search(rf"<\|{name}\|>\n?(.*?)\n?<\|/{name}\|>", message, re.DOTALL)
    return found[1] if found else None


def _named(text: str, name: str) -> tuple[str, str]:
    """A path and the text below it."""
    found = re.match(rf"\s*{name}:[ \t]*([^\n]*)\n?", text)
    return (found[1].strip(), text[found.end() :]) if found else ("", text)


def _message(body: Body) -> str:
    """The text of the last message of the user."""
    said = [each["content"] for each in chat_of(body).messages if each["role"] == "user"]
    return said[-1] if said else ""


def _options(body: Body) -> Options:
    return chat_options(body, GREEDY, edits.DEFAULT_MAX_TOKENS)


async def _reply(service: Service, body: Body, content: str, answer: Answer) -> Response:
    reply: dict[str, Any] = {"id": new_id("chatcmpl"), "created": now_s(), "model": body.text("model") or service.model}
    told = {"usage": chat_usage([answer])}
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if body.flag("stream"):
        return await server_sent(_chunks(reply | {"object": "chat.completion.chunk"}, message, told))
    message |= {"tool_calls": list[Any](), "tool_call_id": None}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return JSONResponse(reply | {"object": "chat.completion", "choices": choices} | told)


async def _chunks(reply: dict[str, Any], delta: dict[str, Any], told: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
    """The whole answer in one chunk: whether it is used is known at its end."""
    yield reply | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield reply | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]} | told
