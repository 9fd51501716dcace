"""Mercury's edit and apply: what the model is asked, and what becomes of its answer."""

from typing import Any

import httpx
import pytest

from dlsp.api.answer import Answer
from dlsp.api.dialects.mercury import parse_edit
from dlsp.api.edits import Edit, rewritten
from tests.dlsp.api.test_chat import content, streamed
from tests.dlsp.stub_engine import StubEngine

# As cursortab sends it, and with the blank lines that Continue puts between sections.
SECTIONS = [
    "<|recently_viewed_code_snippets|>\n<|recently_viewed_code_snippet|>\ncode_snippet_file_path: b.py\nB = 1\n"
    "<|/recently_viewed_code_snippet|>\n<|/recently_viewed_code_snippets|>",
    "<|current_file_content|>\ncurrent_file_path: src/a.py\nimport b\n"
    "<|code_to_edit|>\ndef f(x):\n    return y<|cursor|>\n<|/code_to_edit|>\n\nprint(f(1))\n<|/current_file_content|>",
    "<|edit_diff_history|>\n--- a/src/a.py\n+++ b/src/a.py\n@@ -2 +2 @@\n-def f(x, z):\n+def f(x):\n"
    "<|/edit_diff_history|>",
]
REGION = "def f(x):\n    return y"
UPDATE = "# ... existing code ...\nb = 3"
APPLY = f"<|original_code|>\na = 1\nb = 2\n<|/original_code|>\n\n<|update_snippet|>\n{UPDATE}\n<|/update_snippet|>"


def asked(text: str) -> dict[str, Any]:
    return {"model": "mercury-edit", "messages": [{"role": "user", "content": text}]}


@pytest.mark.parametrize("between", ["\n", "\n\n\n"])
def test_the_message_of_an_edit(between: str) -> None:
    found = parse_edit(between.join(SECTIONS))
    changes = "--- a/src/a.py\n+++ b/src/a.py\n@@ -2 +2 @@\n-def f(x, z):\n+def f(x):"
    snippets = (("b.py", "B = 1\n"),)
    assert found == Edit("src/a.py", "import b\n", REGION, "\n\nprint(f(1))", changes, snippets)


async def test_edit(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: "Here it is:\n```python\ndef f(x):\n    return x\n```"
    body = asked("\n".join(SECTIONS))
    for path in ("/v1/edit/completions", "/edit/completions"):
        reply = (await api.post(path, json=body)).json()
        (choice,) = reply["choices"]
        assert choice["message"]["content"] == "```\ndef f(x):\n    return x\n```"
        assert (choice["finish_reason"], reply["object"], reply["usage"]["total_tokens"]) == (
            "stop",
            "chat.completion",
            38,
        )
    system, user = stub.requests[0]["messages"]
    assert system["role"] == "system"
    assert all(part in user["content"] for part in (REGION, "import b", "print(f(1))", "+def f(x):", "B = 1"))
    assert "<|" not in user["content"]
    assert stub.requests[0]["temperature"] == 0
    answer = await api.post("/v1/edit/completions", json=body | {"stream": True})
    assert content(streamed(answer)) == "```\ndef f(x):\n    return x\n```"


async def test_no_edit_is_the_region_in_a_fence(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: "```\n```"
    reply = (await api.post("/v1/edit/completions", json=asked("\n".join(SECTIONS)))).json()
    assert reply["choices"][0]["message"]["content"] == f"```\n{REGION}\n```"


INDENTED = "    a = 1\n    if a:\n        b()"


@pytest.mark.parametrize(
    ("region", "text", "reason", "expected"),
    [
        ("a\nb", "a\nc", "stop", "a\nc"),
        ("a\nb", "```\na\nc\n```", "stop", "a\nc"),
        ("a\nb", "a\nc", "length", "a\nb"),  # cut off
        ("a\nb", " ", "stop", "a\nb"),
        ("a\nb\nc\nd", "a", "stop", "a\nb\nc\nd"),  # most of it lost
        ("\na\nb\n\n", "```\na\nc\n```", "stop", "\na\nc\n\n"),
        ("a", "a\n" * 40, "stop", "a"),
        (INDENTED, "a = 2\nif a:\n    b()", "stop", "    a = 2\n    if a:\n        b()"),
        (INDENTED, "    a = 2\n    if a:\n        b()", "stop", "    a = 2\n    if a:\n        b()"),
        (INDENTED, "    a = 2\n\ndef c():\n    pass", "stop", "    a = 2\n\ndef c():\n    pass"),
    ],
)
def test_what_becomes_of_the_models_answer(region: str, text: str, reason: str, expected: str) -> None:
    assert rewritten(region, Answer(text, reason)) == expected


async def test_apply(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: "```python\na = 1\nb = 3\n```"
    reply = (await api.post("/v1/apply/completions", json=asked(APPLY))).json()
    assert reply["choices"][0]["message"]["content"] == "a = 1\nb = 3"
    assert UPDATE in stub.requests[0]["messages"][1]["content"]


@pytest.mark.parametrize("merged", [UPDATE, "", "b = 3"])
async def test_an_update_that_would_lose_code_is_refused(api: httpx.AsyncClient, stub: StubEngine, merged: str) -> None:
    stub.answer = lambda request: merged
    text = APPLY.replace("a = 1\n", "".join(f"a{number} = 1\n" for number in range(9)))
    answer = await api.post("/v1/apply/completions", json=asked(text))
    assert answer.status_code == 422
    assert "did not merge" in answer.json()["error"]["message"]
    assert answer.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("path", ["/v1/edit/completions", "/v1/apply/completions"])
async def test_a_message_without_its_sections(api: httpx.AsyncClient, path: str) -> None:
    answer = await api.post(path, json=asked("Hello?"))
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "messages")


async def test_feedback_and_models(api: httpx.AsyncClient) -> None:
    for path in ("/v1/feedback", "/v1/edit/completions/feedback"):
        assert (await api.post(path, json={"request_id": "a", "user_action": "accept"})).status_code == 200
    assert (await api.get("/v1/chat/completions/models")).json()["data"]
