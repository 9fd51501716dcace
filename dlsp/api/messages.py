"""The messages and functions of a chat, as OpenAI's, Ollama's and Mercury's requests have them, for the engine."""

import json
from typing import Any, cast

from dlsp.api.body import Body, Refused
from dlsp.api.generator import Chat

# Roles by what the model's chat template calls them.
ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


def chat_of(body: Body) -> Chat:
    """The chat of a request. Raises Refused."""
    messages = tuple(_message(each) for each in body.each("messages"))
    if not messages:
        raise Refused(400, "`messages` is empty.", "messages")
    tools = tuple(_tool(each) for each in body.each("tools"))
    return Chat(messages, tools)


def names_of(chat: Chat) -> frozenset[str]:
    """The functions that the model may call."""
    return frozenset(each["function"]["name"] for each in chat.tools)


def _message(raw: Body) -> dict[str, Any]:
    role = raw.text("role")
    if role not in ROLES:
        raise Refused(400, f"`role` must be one of {', '.join(ROLES)}.", "messages")
    if raw.raw("images"):
        raise Refused(400, "This model reads text only: leave `images` out.", "messages")
    calls = [_call(each) for each in raw.each("tool_calls")]
    message: dict[str, Any] = {"role": ROLES[role], "content": _content(raw)}
    return message | ({"tool_calls": calls} if calls else {})


def _content(raw: Body) -> str:
    """The text of a message: a string, or a list of parts that are text."""
    if not isinstance(raw.raw("content"), list):
        return raw.text("content")
    parts: list[str] = []
    for part in raw.each("content"):
        if part.text("type", "text") not in ("text", "refusal"):
            raise Refused(400, "This model reads text only: `content` must have parts of the type `text`.", "messages")
        parts.append(part.text("text") or part.text("refusal"))
    return "".join(parts)


def _call(raw: Body) -> dict[str, Any]:
    """A call of an earlier answer. Its arguments are JSON in a string (OpenAI) or an object (Ollama)."""
    function = raw.inner("function")
    arguments = function.raw("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            raise Refused(400, "`arguments` of a call must be JSON.", "messages") from None
    return {"type": "function", "function": {"name": function.text("name"), "arguments": arguments or {}}}


def _tool(raw: Body) -> dict[str, Any]:
    if raw.text("type", "function") != "function" or not raw.inner("function").text("name"):
        raise Refused(400, "`tools` must hold functions, each with a name.", "tools")
    function = cast("dict[str, Any]", raw.raw("function"))
    return {"type": "function", "function": function}
