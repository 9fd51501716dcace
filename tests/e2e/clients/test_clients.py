"""Clients of other completion servers, unchanged, against `dlsp api`."""

from typing import Any

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.clients.conftest import Client

MODEL = "qwen2.5-coder-0.5b"


def gaps(stub: StubEngine) -> list[tuple[str, str]]:
    """The text before and after each gap that the engine was asked for."""
    found: list[dict[str, Any]] = [request["gaps"][0] for request in stub.requests if "gaps" in request]
    return [(each["prefix"] + each["middle"], each["suffix"]) for each in found]


@pytest.mark.parametrize("name", ["openai-2", "openai-3"])
def test_openai(client: Client, stub: StubEngine, name: str) -> None:
    told = client(name, "openai_python.py")
    assert told["texts"] == ["a + b"] * 2
    assert told["streamed"] == "a + b"
    assert told["tokens"] == 2 * told["usage"] == 2 * 38
    assert told["models"] == [MODEL]
    assert told["error"] == "n"
    assert gaps(stub) == [("a = ", "\n")] * 2 + [("b = ", "")]
    assert stub.requests[0]["max_tokens"] == 7


def test_langchain(client: Client, stub: StubEngine) -> None:
    assert client("langchain", "langchain.py") == {"text": "a + b", "streamed": "a + b"}
    assert gaps(stub) == [("a = ", ""), ("b = ", "")]


def test_llama_index(client: Client, stub: StubEngine) -> None:
    assert client("llama-index", "llama_index.py") == {"text": "a + b", "streamed": "a + b"}
    assert sorted(gaps(stub)) == [("a = ", ""), ("b = ", "")]


def test_litellm(client: Client, stub: StubEngine) -> None:
    told = client("litellm", "litellm_python.py")
    assert told == dict.fromkeys(("openai", "codestral", "inception"), "a + b")
    assert gaps(stub) == [("a = ", "\n")] * 3


def test_mistralai(client: Client, stub: StubEngine) -> None:
    assert client("mistralai", "mistralai_python.py") == {"text": "a + b", "streamed": "a + b"}
    assert gaps(stub) == [("a = ", "\n"), ("b = ", "\n")]


def test_ollama(client: Client, stub: StubEngine) -> None:
    told = client("ollama", "ollama_python.py")
    assert (told["text"], told["streamed"], told["reason"]) == ("a + b", "a + b", "stop")
    assert (told["model"], told["running"]) == (MODEL, [MODEL])
    assert told["capabilities"] == ["completion", "insert", "tools"]
    assert gaps(stub) == [("a = ", "\n"), ("b = ", "")]


def test_openai_for_javascript(client: Client, stub: StubEngine) -> None:
    assert client("openai-js", "openai_js.cjs") == {"text": "a + b", "streamed": "a + b", "models": [MODEL]}
    assert gaps(stub) == [("a = ", "\n"), ("b = ", "")]


def test_ai_sdk(client: Client, stub: StubEngine) -> None:
    assert client("ai-sdk", "ai_sdk.cjs") == {"text": "a + b", "streamed": "a + b"}
    assert [before for before, _ in gaps(stub)] == ["user:\na = \n\nassistant:\n", "user:\nb = \n\nassistant:\n"]


def test_ollama_for_javascript(client: Client, stub: StubEngine) -> None:
    told = client("ollama-js", "ollama_js.cjs")
    assert (told["text"], told["streamed"], told["chat"], told["reason"]) == (*["a + b"] * 3, "stop")
    assert (told["model"], told["capabilities"]) == (MODEL, ["completion", "insert", "tools"])
    assert gaps(stub) == [("a = ", "\n"), ("b = ", "")]


def test_mistral_for_javascript(client: Client, stub: StubEngine) -> None:
    assert client("mistral-js", "mistral_js.cjs") == dict.fromkeys(("text", "streamed", "chat"), "a + b")
    assert gaps(stub) == [("a = ", "\n"), ("b = ", "\n")]


def test_continues_adapters(client: Client, stub: StubEngine) -> None:
    def answer(request: dict[str, Any]) -> str:
        asked = request["messages"][-1]["content"] if "messages" in request else ""
        return "```\na = 2\n```" if "a = 1" in asked else "a + b"

    stub.answer = answer
    told = client("continue-adapters", "continue_adapters.cjs")
    assert (told["whole"], told["streamed"], told["chat"]) == ("a + b",) * 3
    assert told["fim"] == dict.fromkeys(("mistral", "inception", "deepseek", "llama.cpp"), "a + b")
    assert (told["edit"], told["applied"]) == ("```\na = 2\n```", "a = 2")
    assert gaps(stub) == [("b = ", "")] * 2 + [("a = ", "\nc")] * 4


def test_text_generation(client: Client, stub: StubEngine) -> None:
    told = client("text-generation", "text_generation_python.py")
    assert (told["text"], told["streamed"], told["whole"]) == ("a + b",) * 3
    assert (told["tokens"], told["reason"]) == (7, "eos_token")
    assert gaps(stub) == [("a = ", ""), ("b = ", "")]


def test_the_command_llm(client: Client, stub: StubEngine) -> None:
    assert client("llm", "llm_cli.py") == dict.fromkeys(("streamed", "whole", "completed"), "a + b")
    assert gaps(stub) == [("b = ", "")]


def test_tabbys_agent(client: Client, stub: StubEngine) -> None:
    told = client("tabby-agent", "tabby_agent.cjs")
    assert told["ready"] is True
    assert told["texts"] == ["a + b"]
    assert gaps(stub)[-1] == ("def add(a, b):\n    return ", "\n")
