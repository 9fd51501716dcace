"""dlsp's own next edits in the interfaces of other clients: what follows from the last edit, without the chat model."""

from typing import Any

import httpx
import pytest

from tests.dlsp.stub_engine import StubEngine

# A name was changed at its definition; the region has a use of it.
OLD, NEW, USES = "def total(rows):", "def sum_of(rows):", "def g(rows):\n    return total(rows) + 1"
DONE = USES.replace("total", "sum_of")
HEAD, TAIL = f"import b\n\n\n{NEW}\n    return len(rows)\n\n\n", "\n\n\nprint(total([]))\n"
LINES = f"-{OLD}\n+{NEW}\n"
DIFF = f"--- a/src/a.py\n+++ b/src/a.py\n@@ -4 +4 @@\n{LINES}"
SEED = f"<[fim-suffix]>{TAIL[1:]}<[fim-prefix]><filename>edit_history\n{DIFF}\n<filename>src/a.py\n{HEAD}"
MERCURY = (
    "<|recently_viewed_code_snippets|>\n<|/recently_viewed_code_snippets|>\n<|current_file_content|>\n"
    f"current_file_path: src/a.py\n{HEAD}<|code_to_edit|>\n{USES}<|cursor|>\n<|/code_to_edit|>{TAIL}"
    f"<|/current_file_content|>\n<|edit_diff_history|>\n{DIFF}<|/edit_diff_history|>"
)
PROMPTS = {
    "zeta": (
        f'### Instruction:\nGo on.\n\n### User Edits:\n\nUser edited "src/a.py":\n```diff\n@@ -4 +4 @@\n{LINES}```\n\n'
        f"### User Excerpt:\n\n```src/a.py\n<|start_of_file|>{HEAD}<|editable_region_start|>\n{USES}"
        f"<|user_cursor_is_here|>\n<|editable_region_end|>{TAIL}```\n\n### Response:\n",
        f"<|editable_region_start|>\n{DONE}\n<|editable_region_end|>",
    ),
    "zeta 2": (
        f"{SEED}<<<<<<< CURRENT\n{USES}<|user_cursor|>\n=======\n<[fim-middle]>",
        f"{DONE}\n>>>>>>> UPDATED\n",
    ),
    "zeta 2.1": (
        f"{SEED}<|marker_1|>\n{USES}<|user_cursor|>\n<|marker_2|>\n<[fim-middle]>",
        f"<|marker_1|>\n{DONE}\n<|marker_2|><[end▁of▁sentence]>",
    ),
    "sweep": (
        f"<|file_sep|>src/a.py\n{HEAD.replace(NEW, OLD)}{USES}{TAIL}<|file_sep|>src/a.py:4:4\noriginal:\n{OLD}\n"
        f"updated:\n{NEW}\n<|file_sep|>original/src/a.py\n{OLD}\n    return len(rows)\n\n\n{USES}\n"
        f"<|file_sep|>current/src/a.py\n{NEW}\n    return len(rows)\n\n\n{USES}<|cursor|>\n"
        "<|file_sep|>updated/src/a.py\n",
        f"{NEW}\n    return len(rows)\n\n\n{DONE}",
    ),
}
MESSAGES = {
    "instinct": (
        f'Help.\n\n### User Edits:\n\nUser edited file "src/a.py"\n\n```diff\n{LINES}```\n\nUser edited file "b.py"\n\n'
        f"```diff\n-B = 0\n+B = 1\n```\n\n### User Excerpt:\nsrc/a.py\n\n{HEAD}<|editable_region_start|>\n{USES}"
        f"<|user_cursor_is_here|>\n<|editable_region_end|>{TAIL}### Response:",
        DONE,
    ),
    "duet": (
        f'Recent edits:\nUser edited "src/a.py":\n```diff\n@@ -4 +4 @@\n{LINES}```\n# language: python\n{HEAD}'
        f"<editable_region>\n{USES}<cursor_position/>\n</editable_region>{TAIL}",
        f"<editable_region>\n{DONE.replace('sum_of', 'sum_of<cursor_position/>')}\n</editable_region>",
    ),
}


def chats(stub: StubEngine) -> list[dict[str, Any]]:
    return [each for each in stub.requests if "messages" in each]


def message(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


@pytest.mark.parametrize("name", PROMPTS)
async def test_prompts(api: httpx.AsyncClient, stub: StubEngine, name: str) -> None:
    prompt, expected = PROMPTS[name]
    reply = (await api.post("/v1/completions", json={"prompt": prompt, "max_tokens": 99})).json()
    assert reply["choices"][0]["text"] == expected
    assert reply["choices"][0]["finish_reason"] == "stop"
    assert not chats(stub)


@pytest.mark.parametrize("name", MESSAGES)
async def test_messages(api: httpx.AsyncClient, stub: StubEngine, name: str) -> None:
    text, expected = MESSAGES[name]
    reply = (await api.post("/v1/chat/completions", json=message(text))).json()
    assert reply["choices"][0]["message"]["content"] == expected
    assert not chats(stub)


async def test_mercury(api: httpx.AsyncClient, stub: StubEngine) -> None:
    reply = (await api.post("/v1/edit/completions", json=message(MERCURY))).json()
    assert reply["choices"][0]["message"]["content"] == f"```\n{DONE}\n```"
    assert not chats(stub)


async def test_sweeps_server(api: httpx.AsyncClient, stub: StubEngine) -> None:
    text = HEAD + USES + TAIL
    body: dict[str, Any] = {
        "file_path": "src/a.py",
        "file_contents": text,
        "recent_changes": f"File: src/a.py:\n@@ -4 +4 @@\n{LINES}",
    }
    body["cursor_position"] = text.index("return total")
    found = (await api.post("/backend/next_edit_autocomplete", json=body)).json()
    whole = text[: found["start_index"]] + found["completion"] + text[found["end_index"] :]
    assert whole == HEAD + (USES + TAIL).replace("total", "sum_of")
    assert 0.5 < found["confidence"] < 1
    assert not chats(stub)


async def test_an_edit_of_another_file(api: httpx.AsyncClient, stub: StubEngine) -> None:
    """Which the diff alone shows, or a snippet, too."""
    diff = f"--- a/b.py\n+++ b/b.py\n@@ -4 +4 @@\n{LINES}"
    text = MERCURY.replace(HEAD, "from b import total\n\n\n").replace(DIFF, diff)
    snippet = f"<|recently_viewed_code_snippet|>\ncode_snippet_file_path: b.py\n{HEAD}<|/recently_viewed_code_snippet|>"
    for each in (
        text,
        text.replace("\n<|/recently_viewed_code_snippets|>", f"\n{snippet}\n<|/recently_viewed_code_snippets|>"),
    ):
        reply = (await api.post("/v1/edit/completions", json=message(each))).json()
        assert reply["choices"][0]["message"]["content"] == f"```\n{DONE}\n```"
    assert not chats(stub)


@pytest.mark.parametrize(
    "text",
    [
        MERCURY.replace("return total", "return other"),  # nothing of it in the region
        MERCURY.replace(DIFF, ""),
        MERCURY.replace(DIFF, DIFF.replace(NEW, "def third(rows):")),  # the diff does not fit the file
    ],
)
async def test_else_the_chat_model_is_asked(api: httpx.AsyncClient, stub: StubEngine, text: str) -> None:
    stub.answer = lambda request: "```\ndef g(rows):\n    return 2\n```"
    reply = (await api.post("/v1/edit/completions", json=message(text))).json()
    assert reply["choices"][0]["message"]["content"] == "```\ndef g(rows):\n    return 2\n```"
    assert len(chats(stub)) == 1
