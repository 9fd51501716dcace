"""Clients of other servers, unchanged, in chats with `dlsp api`: whole and streamed answers, functions and results."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.clients.conftest import Client

CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'
CALLED = ["weather", {"city": "Rome"}]
HELLO, RESULT = "Hello there, you!", "It is mild in Rome."


@pytest.fixture
def chat(stub: StubEngine, client: Client) -> Client:
    """As `client`; the engine calls a function when it is offered one, and answers when it knows the result."""

    def answer(request: dict[str, Any]) -> str:
        if request["messages"][-1]["role"] == "tool":
            return RESULT
        if "constraint" in request:
            calls = "anyOf" in request["constraint"]["json_schema"]
            return '{"name": "weather", "arguments": {"city": "Oslo"}}' if calls else '{"city": "Oslo"}'
        return CALL if request.get("tools") else HELLO

    stub.answer = answer
    return client


def results(stub: StubEngine) -> list[str]:
    """The results of functions that the engine was told."""
    last = [request["messages"][-1] for request in stub.requests]
    return [each["content"] for each in last if each["role"] == "tool"]


@pytest.mark.parametrize("name", ["openai-2", "openai-3"])
def test_openai(chat: Client, stub: StubEngine, name: str) -> None:
    told = chat(name, "openai_chat.py")
    assert told["texts"] == [HELLO] * 2
    assert told["tokens"] == ["Hello ", "there, ", "you!"]
    assert told["usage"] == [31 + 2 * 7, 31 + 7]
    assert told["streamed"] == HELLO
    assert told["reasons"] == ["stop", "tool_calls"]
    assert told["call"] == told["streamed_call"] == CALLED
    assert told["answer"] == RESULT
    assert (told["forced"], told["parsed"], told["refused"]) == ({"city": "Oslo"}, "Oslo", 501)
    assert results(stub) == ["18 C"]
    assert stub.requests[0]["max_tokens"] == 7


def test_langchain(chat: Client, stub: StubEngine) -> None:
    told = chat("langchain", "langchain_chat.py")
    assert (told["text"], told["streamed"], told["answer"]) == (HELLO, HELLO, RESULT)
    assert told["call"] == told["streamed_call"] == CALLED
    assert told["json"] == told["function"] == {"city": "Oslo"}
    assert results(stub) == ["18 C in Rome"]


def test_litellm(chat: Client) -> None:
    told = chat("litellm", "litellm_chat.py")
    assert told["openai"] == told["ollama"] == {"text": HELLO, "streamed": HELLO, "call": CALLED}


def test_ollama(chat: Client, stub: StubEngine) -> None:
    told = chat("ollama", "ollama_chat.py")
    expected = {"text": HELLO, "streamed": HELLO, "call": CALLED, "answer": RESULT, "json": {"city": "Oslo"}}
    assert told == expected
    assert results(stub) == ["18 C in Rome"]


def test_pydantic_ai(chat: Client, stub: StubEngine) -> None:
    told = chat("pydantic-ai", "pydantic_ai_chat.py")
    assert told == {"answer": RESULT, "streamed": HELLO, "parsed": "Oslo"}
    assert results(stub) == ["18 C in Rome"]


def test_openai_for_javascript(chat: Client) -> None:
    told = chat("openai-js", "openai_chat_js.cjs")
    assert (told["text"], told["streamed"], told["finish_reason"]) == (HELLO, HELLO, "tool_calls")
    assert told["call"] == told["streamed_call"] == CALLED


def test_ai_sdk(chat: Client, stub: StubEngine) -> None:
    told = chat("ai-sdk", "ai_sdk_chat.cjs")
    assert (told["text"], told["streamed"]) == (HELLO, HELLO)
    assert (told["answer"], told["streamed_answer"]) == (RESULT, RESULT)
    assert told["asked"] == ["Rome"] * 2
    assert results(stub) == ["18 C in Rome"] * 2


def test_kilo_code(client: Client, stub: StubEngine, tmp_path: Path) -> None:
    """Its command reads the file that the model asks for, and gives the answer."""
    (tmp_path / "note.txt").write_text("The key is under the mat.")
    call = {"name": "read", "arguments": {"filePath": str(tmp_path / "note.txt")}}

    def answer(request: dict[str, Any]) -> str:
        known = request["messages"][-1]["role"] == "tool"
        return RESULT if known else f"<tool_call>\n{json.dumps(call)}\n</tool_call>"

    stub.answer = answer
    assert client("kilo", "kilo_run.cjs") == {"answer": RESULT}
    (result,) = results(stub)
    assert "The key is under the mat." in result
