"""The form that a client wants an answer to have, as a constraint of the engine (docs/engine-http.md)."""

from collections.abc import Iterable
from typing import Any, cast

from dlsp.api.body import Body, Refused
from dlsp.api.generator import Chat

JSON_OBJECT = {"json_schema": {"type": "object"}}
# Of integers whose schema has no limit on that side: the largest that every JSON reader keeps exactly. Without a limit
# small models may write digits without end.
LARGEST_INTEGER = 2**53 - 1
LIMITS = {"minimum": ("exclusiveMinimum", -LARGEST_INTEGER), "maximum": ("exclusiveMaximum", LARGEST_INTEGER)}
# Fields of a schema that hold values and not schemas.
VALUES = ("const", "enum", "default", "examples")


def form_of(body: Body, chat: Chat) -> dict[str, Any] | None:
    """The constraint of OpenAI's `tool_choice` and `response_format`; None where the answer is free."""
    called = _called(body, chat)
    wanted = body.inner("response_format")
    kind = wanted.text("type", "text")
    if kind == "text":
        return called
    if chat.tools:
        raise Refused(501, "`response_format` cannot be combined with `tools`: send one of them.", "response_format")
    if kind == "json_object":
        return JSON_OBJECT
    if kind != "json_schema":
        raise Refused(
            400, "`type` of `response_format` must be `text`, `json_object` or `json_schema`.", "response_format"
        )
    return {"json_schema": _limited(wanted.inner("json_schema").inner_raw("schema"))}


def format_of(body: Body, chat: Chat) -> dict[str, Any] | None:
    """The constraint of Ollama's `format`: `json`, or a JSON schema."""
    wanted = body.raw("format")
    if wanted in (None, ""):
        return None
    if chat.tools:
        raise Refused(501, "`format` cannot be combined with `tools`: send one of them.", "format")
    if wanted == "json":
        return JSON_OBJECT
    return {"json_schema": _limited(body.inner_raw("format"))}


def _called(body: Body, chat: Chat) -> dict[str, Any] | None:
    """The constraint that the answer is a call, None where it need not be."""
    choice = body.raw("tool_choice")
    if choice in (None, "auto", "none"):
        return None
    tools = [each["function"] for each in chat.tools]
    if choice != "required":
        name = body.inner("tool_choice").inner("function").text("name") if isinstance(choice, dict) else ""
        tools = [each for each in tools if each["name"] == name]
    if not tools:
        sentence = "`tool_choice` must be `none`, `auto`, `required` or a function of `tools`."
        raise Refused(400, sentence, "tool_choice")
    return {"json_schema": _limited(_call_schema(tools))}


def _call_schema(functions: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The schema of a call of one of these functions. What their schemas define for reference moves to its top."""
    calls: list[dict[str, Any]] = []
    definitions: dict[str, Any] = {}
    for number, function in enumerate(functions):
        parameters = function.get("parameters") or {"type": "object"}
        if not isinstance(parameters, dict):
            raise Refused(400, "`parameters` of a function must be an object.", "tools")
        moved = cast("dict[str, Any]", _moved(parameters, f"{number}."))
        for place in ("$defs", "definitions"):
            own = moved.pop(place, {})
            if isinstance(own, dict):
                named = cast("dict[str, Any]", own)
                definitions |= {f"{number}.{name}": schema for name, schema in named.items()}
        properties = {"name": {"const": function["name"]}, "arguments": moved}
        required = ["name", "arguments"]
        calls.append({"type": "object", "properties": properties, "required": required, "additionalProperties": False})
    return {"anyOf": calls} | ({"$defs": definitions} if definitions else {})


def _limited(schema: Any) -> Any:
    """A schema whose integers have limits."""
    if isinstance(schema, list):
        return [_limited(each) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    own = cast("dict[str, Any]", schema)
    fields = {name: value if name in VALUES else _limited(value) for name, value in own.items()}
    if fields.get("type") == "integer":
        fields |= {
            name: limit
            for name, (exclusive, limit) in LIMITS.items()
            if not {name, exclusive, "const", "enum"} & fields.keys()
        }
    return fields


def _moved(schema: Any, prefix: str) -> Any:
    """A schema whose references to its own definitions are to those of this prefix."""
    if isinstance(schema, list):
        return [_moved(each, prefix) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    fields = {name: _moved(value, prefix) for name, value in cast("dict[str, Any]", schema).items()}
    reference = fields.get("$ref")
    if isinstance(reference, str):
        for place in ("#/$defs/", "#/definitions/"):
            if reference.startswith(place):
                fields["$ref"] = f"#/$defs/{prefix}{reference.removeprefix(place)}"
    return fields
