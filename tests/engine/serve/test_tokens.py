"""`POST /v1/tokens` over a real socket, on a tiny model, whose tokens are bytes."""

import json
from typing import Any

import httpx
import pytest

from dlsp_engine.serve.requests import MAX_CHARACTERS
from dlsp_engine.text.chat import Chat
from tests.engine.serve.conftest import SlowEngine
from tests.engine.serve.test_generate import TEMPLATE


@pytest.fixture(autouse=True)
def template(engine: SlowEngine) -> None:
    engine.chat = Chat(TEMPLATE, engine.tokenizer.added)


def tokens(client: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.post("/v1/tokens", json=body)
    assert answer.status_code == 200, answer.text
    event, done = (json.loads(line) for line in answer.text.splitlines() if line)
    assert (event.pop("event"), done) == ("tokens", {"event": "done"})
    return event


def test_of_a_text_and_back(client: httpx.Client) -> None:
    found = tokens(client, {"prompt": "aé"})
    assert found == {"tokens": [97, 195, 169], "pieces": ["a", [195], [169]], "text": "aé"}
    assert tokens(client, {"prompt": found["tokens"]})["text"] == "aé"


def test_control_tokens_only_where_asked(client: httpx.Client, engine: SlowEngine) -> None:
    end = engine.tokenizer.added["<|end|>"]
    assert tokens(client, {"prompt": "a<|end|>"})["tokens"] == list(b"a<|end|>")
    found = tokens(client, {"prompt": "a<|end|>", "control": True})
    assert found == {"tokens": [97, end], "pieces": ["a", "<|end|>"], "text": "a<|end|>"}


def test_of_a_chat(client: httpx.Client, engine: SlowEngine) -> None:
    found = tokens(client, {"messages": [{"role": "user", "content": "a<|end|>"}]})
    assert found["text"] == "<|file|>user: a<|end|><|end|>\n<|file|>assistant: "
    assert found["tokens"].count(engine.tokenizer.added["<|end|>"]) == 1  # the template's, not the message's


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "'prompt'"),
        ({"prompt": ""}, "'prompt'"),
        ({"prompt": [10**9]}, "'prompt'"),
        ({"prompt": "a", "messages": []}, "'prompt'"),
        ({"prompt": "a", "control": 1}, "'control'"),
        ({"prompt": "a", "max_tokens": 1}, "'max_tokens'"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "No tools here"),
    ],
)
def test_what_is_refused(client: httpx.Client, body: dict[str, Any], named: str) -> None:
    answer = client.post("/v1/tokens", json=body)
    assert answer.status_code == 400
    assert named in answer.json()["error"]


def test_too_much(client: httpx.Client) -> None:
    assert client.post("/v1/tokens", json={"prompt": "a" * (MAX_CHARACTERS + 1)}).status_code == 413
