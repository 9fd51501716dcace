"""Parses and checks the bodies of `POST /v1/generate`."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dlsp_engine.errors import EngineError
from dlsp_engine.serve.requests import (
    MAX_CHARACTERS,
    OPTIONS,
    Parsed,
    TooLarge,
    answers,
    checked,
    client,
    listed,
    options,
    priority,
    session,
    unicode,
)
from dlsp_engine.text.chat import Chat, Generation
from dlsp_engine.text.grammars import Grammars

MAX_PARTS = 4096
ROLES = ("system", "user", "assistant", "tool")
OPTION_FIELDS = OPTIONS.keys() - {"end"}
FIELDS = {"messages", "tools", "prompt", "session", "priority", "client", "n"} | OPTION_FIELDS
MESSAGE_FIELDS = {"role", "content", "name", "tool_calls", "tool_call_id"}


def parse_generate(
    body: Any, chat: Callable[[], Chat | None], vocab: int, grammars: Grammars | None = None
) -> Parsed[Generation]:
    """Return the checked body. `chat` returns the model's chat template, `vocab` is the size of its vocabulary, and
    `grammars` compiles the body's constraint. Raises EngineError with one sentence that names the field and the values
    it takes.
    """
    checked(body, FIELDS)
    try:
        size = len(json.dumps([body.get(name) for name in ("messages", "tools", "prompt")], ensure_ascii=False))
    except RecursionError as error:
        raise EngineError("'messages' and 'tools' are nested too deeply.") from error
    if size > MAX_CHARACTERS:
        raise TooLarge(f"The request holds {size} characters; at most {MAX_CHARACTERS} are taken.")
    if ("messages" in body) == ("prompt" in body):
        raise EngineError("The body must have either 'messages' or 'prompt'.")
    parts = _prompt(body["prompt"], vocab) if "prompt" in body else _chat(body, chat)
    if not any(isinstance(part, int) or part for part in parts):
        raise EngineError("'prompt' must not be empty.")
    chosen = options(body, grammars)
    asked = Generation(parts, session(body, "the body"))
    return Parsed((asked,), chosen, priority(body, "filling"), client(body), answers=answers(body, chosen))


def _prompt(value: Any, vocab: int) -> tuple[str | int, ...]:
    parts = value if isinstance(value, list) else [value]
    if len(parts) > MAX_PARTS and not all(type(part) is int for part in parts):
        raise EngineError(f"'prompt' must hold at most {MAX_PARTS} texts and tokens.")
    for part in parts:
        if isinstance(part, str):
            unicode(part, "'prompt'")
        elif type(part) is not int or not 0 <= part < vocab:
            raise EngineError(f"'prompt' must be a text, or a list of texts and of token ids below {vocab}.")
    return tuple(parts)


def _chat(body: dict[str, Any], chat: Callable[[], Chat | None]) -> tuple[str | int, ...]:
    messages = [_message(each) for each in listed(body, "messages")]
    if not messages:
        raise EngineError("'messages' must hold at least one message.")
    tools = listed(body, "tools")
    if not all(isinstance(tool, dict) for tool in tools):
        raise EngineError("'tools' must hold objects.")
    template = chat()
    if template is None:
        raise EngineError("This model has no chat template: send 'prompt'.")
    try:
        parts = template.parts(messages, tools)
    except RecursionError as error:
        raise EngineError("'messages' and 'tools' are nested too deeply.") from error
    for part in parts:
        if isinstance(part, str):
            unicode(part, "'messages' or 'tools'")
    return parts


def _message(raw: Any) -> dict[str, Any]:
    checked(raw, MESSAGE_FIELDS, "A message in 'messages'")
    if raw.get("role") not in ROLES:
        raise EngineError(f"'role' in 'messages' must be one of {', '.join(ROLES)}.")
    content = raw.get("content")
    if content is not None and not isinstance(content, str):
        raise EngineError("'content' in 'messages' must be a text.")
    calls = listed(raw, "tool_calls")
    if not all(isinstance(call, dict) for call in calls):
        raise EngineError("'tool_calls' in 'messages' must hold objects.")
    message = {"role": raw["role"], "content": content or ""}
    return message | ({"tool_calls": [_call(call) for call in calls]} if calls else {})


def _call(call: dict[str, Any]) -> dict[str, Any]:
    """Return a tool call with its arguments as an object, which templates write as JSON: some clients send them as JSON
    in a text.
    """
    function = call.get("function")
    if isinstance(function, dict) and isinstance(function.get("arguments"), str):
        with suppress(ValueError, RecursionError):
            return call | {"function": function | {"arguments": json.loads(function["arguments"])}}
    return call
