"""Inception's (Mercury's) `/v1/edit/completions` and `/v1/apply/completions`: both are asked of the chat model."""

import re
import textwrap
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dlsp.api.answer import Answer
from dlsp.api.body import Body, Refused
from dlsp.api.dialects.openai_chat import chat_options, chat_usage
from dlsp.api.generator import Chat
from dlsp.api.messages import chat_of
from dlsp.api.sampling import GREEDY
from dlsp.api.wire import Service, new_id, now_s, server_sent

EDIT_PATHS = ("/v1/edit/completions", "/edit/completions")
APPLY_PATHS = ("/v1/apply/completions", "/apply/completions")
FEEDBACK_PATHS = ("/v1/feedback", "/feedback", "/v1/edit/completions/feedback")
DEFAULT_MAX_TOKENS = 8192
CURSOR = "<|cursor|>"
# A rewritten region of fewer lines than this share of it, or of so many more, is taken for a mistake of the model.
MIN_KEPT, MAX_MORE_LINES = 0.5, 20
# What the model reads of a large file.
MAX_BEFORE_CHARACTERS, MAX_AFTER_CHARACTERS, MAX_SNIPPETS = 8000, 4000, 5

EDIT = (
    "You edit code. You are given the user's last changes and a part of a file. Write the part again as the user will "
    "want it: carry the changes on, fix what they broke, and change nothing else. Answer with the part alone, in one "
    "fence."
)
APPLY = (
    "You merge code. You are given a file and an update of parts of it. Write the whole file again, with these parts "
    "as in the update and everything else as it was. Never write a comment like `... existing code ...`: write the "
    "code that it stands for. Answer with the file alone, in one fence."
)
_SNIPPET = re.compile(r"<\|recently_viewed_code_snippet\|>(.*?)<\|/recently_viewed_code_snippet\|>", re.DOTALL)
# A comment in an update for what stays as it is.
_STAYS = re.compile(r"\.\.\.\s*(?:existing|rest of|remaining|unchanged)\b[^\n]*", re.IGNORECASE)
_FENCE = re.compile(r"```[^\n`]*\n(.*)\n?```", re.DOTALL)


@dataclass(frozen=True)
class Edit:
    """A region of a file that may have to change, what stands around it, what was changed before, other files' text."""

    path: str
    before: str
    region: str
    after: str
    changes: str
    snippets: tuple[tuple[str, str], ...] = ()


async def edit(service: Service, body: Body, request: Request) -> Response:
    """Answer with the region as it should be, in a fence; as it is where the model has nothing better."""
    asked = parse_edit(_message(body))
    answer = await _written(service, body, EDIT, _edit_prompt(asked))
    return await _reply(service, body, f"```\n{rewritten(asked.region, answer)}\n```", answer)


async def apply(service: Service, body: Body, request: Request) -> Response:
    """Answer with the whole file."""
    message = _message(body)
    original, update = _section(message, "original_code"), _section(message, "update_snippet")
    if original is None or update is None:
        raise Refused(400, "`messages` needs `<|original_code|>` and `<|update_snippet|>`, each closed.", "messages")
    prompt = f"The file:\n```\n{original}\n```\n\nThe update:\n```\n{update}\n```"
    answer = await _written(service, body, APPLY, prompt)
    if answer.reason == "length":
        raise Refused(422, "The merged file is longer than `max_tokens`: give more.", "max_tokens")
    merged = _bare(answer.text)
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
    after = rest.partition("<|/code_to_edit|>")[2].removeprefix("\n")
    found = re.findall(
        r"<\|recently_viewed_code_snippet\|>(.*?)<\|/recently_viewed_code_snippet\|>", message, re.DOTALL
    )
    snippets = tuple(_named(each, "code_snippet_file_path") for each in found)
    changes = _section(message, "edit_diff_history") or ""
    near = before[-MAX_BEFORE_CHARACTERS:], region.replace(CURSOR, ""), after[:MAX_AFTER_CHARACTERS]
    return Edit(path, *near, changes, snippets)


def rewritten(region: str, answer: Answer) -> str:
    """The region as the model wrote it; as it was where that is cut off, empty, or too unlike it in size. If the model
    left out the indentation that all lines had, they get it back."""
    new, old_lines = _bare(answer.text), region.split("\n")
    lines = new.split("\n")
    kept = MIN_KEPT * len(old_lines) <= len(lines) <= len(old_lines) + MAX_MORE_LINES
    if answer.reason == "length" or not new.strip() or not kept:
        return region
    dedented = textwrap.dedent(region)
    lost = _margin(region).removesuffix(_margin(dedented))
    return textwrap.indent(new, lost) if _margin(new) == _margin(dedented) else new


def _loses(original: str, update: str, merged: str) -> bool:
    """Whether a merged file still has a comment for what stays, or lacks most of a file of which some should stay."""
    partial = bool(_STAYS.search(update))
    lines = len(merged.split("\n")) < MIN_KEPT * len(original.split("\n"))
    return not merged.strip() or (bool(_STAYS.search(merged)) and not _STAYS.search(original)) or (partial and lines)


def _margin(text: str) -> str:
    """The white space that its first line begins with."""
    line = text.lstrip("\n").split("\n", 1)[0]
    return line[: len(line) - len(line.lstrip())]


def _bare(text: str) -> str:
    """The code in an answer, without its fence and the line end at its end."""
    found = _FENCE.search(text)
    return (found[1] if found else text).strip("\n")


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


def _edit_prompt(asked: Edit) -> str:
    others = "".join(f"From {path}:\n```\n{text.strip()}\n```\n\n" for path, text in asked.snippets if text.strip())
    return (
        f"{others}The file {asked.path} before the part:\n```\n{asked.before}\n```\n\nThe file after the part:\n```\n"
        f"{asked.after}\n```\n\nThe user's last changes:\n```diff\n{asked.changes}\n```\n\nThe part:\n```\n"
        f"{asked.region}\n```\n\nWrite the part again."
    )


async def _written(service: Service, body: Body, system: str, prompt: str) -> Answer:
    messages = ({"role": "system", "content": system}, {"role": "user", "content": prompt})
    options = chat_options(body, GREEDY, DEFAULT_MAX_TOKENS)
    (answer,) = await service.generator.answers(Chat(messages), options)
    return answer


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
