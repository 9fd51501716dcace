"""Bodies, headers and bytes that no client of `dlsp api` should send: an answer or a clear 4xx, in every dialect.

The application runs behind its real server; the engine is a stub.
"""

import asyncio
import logging
import random
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dlsp.api.app import app
from tests.dlsp.api.conftest import serving
from tests.dlsp.api.test_edit_prompts import MESSAGES as MESSAGES_OF_EDITS
from tests.dlsp.api.test_edit_prompts import PROMPTS
from tests.dlsp.stub_engine import StubEngine
from tests.faults.mutation import bent, damaged, encoded

ANSWER_S = 10.0
KEY = "secret"
PROMPT = {"prompt": "def f(x):\n    return ", "suffix": "\n", "max_tokens": 4, "stop": ["x"], "seed": 1}
SAMPLING = {"temperature": 0.5, "top_p": 0.9, "n": 2, "stream": False, "logprobs": 1}
INFILL = {"input_prefix": "a = ", "input_suffix": "\n", "input_extra": [{"filename": "b.py", "text": "x = 1\n"}]}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "a"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "content": "1", "tool_call_id": "c"},
]
CHAT = {"messages": MESSAGES, "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]}
CHOICE = {"reasoning_effort": "medium", "tool_choice": "auto", "top_logprobs": 2, "diffusing": False}
EDIT = "<|current_file_content|>\ncurrent_file_path: a.py\n<|code_to_edit|>\na = 1<|cursor|>\n<|/code_to_edit|>\n"
EDIT += "<|/current_file_content|>\n<|edit_diff_history|>\n<|/edit_diff_history|>"
APPLY = "<|original_code|>\na = 1\n<|/original_code|>\n\n<|update_snippet|>\na = 2\n<|/update_snippet|>"
SWEEP = {"file_path": "a.py", "file_contents": "a = é\n", "recent_changes": "File: a.py:\n-b\n+a", "cursor_position": 3}
SWEEP |= {"file_chunks": [{"file_path": "b.py", "start_line": 1, "end_line": 1, "content": "x = 1\n"}]}
EDIT_PROMPTS = [prompt for prompt, *_ in PROMPTS.values()]
EDIT_MESSAGES = [message for message, *_ in MESSAGES_OF_EDITS.values()]


def _asked(message: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": message}]}


SEEDS: dict[str, dict[str, Any]] = {
    "/v1/completions": PROMPT | SAMPLING | {"model": "m", "echo": True, "stream_options": {"include_usage": True}},
    "/completions": PROMPT | SAMPLING,
    "/beta/completions": PROMPT,
    "/v1/fim/completions": PROMPT | {"model": "codestral", "min_tokens": 0, "random_seed": 3},
    "/infill": INFILL | {"prompt": "", "n_predict": 4, "samplers": ["top_k"], "t_max_predict_ms": 500, "n_indent": 0},
    "/completion": {"prompt": "a", "n_predict": 4, "top_k": 5, "cache_prompt": True, "stream": True},
    "/api/generate": {"model": "m", "prompt": "a", "suffix": "b", "options": {"num_predict": 4}, "stream": False},
    "/v1/chat/completions": CHAT | SAMPLING | CHOICE,
    "/api/chat": CHAT | {"options": {"num_predict": 4, "stop": ["x"]}, "stream": False, "format": None},
    "/v1/edit/completions": {"messages": [{"role": "user", "content": EDIT}], "stream": False, "top_p": 0.8},
    "/v1/apply/completions": {"messages": [{"role": "user", "content": APPLY}], "reasoning_effort": "instant"},
    "/v1/feedback": {"request_id": "a", "user_action": "accept"},
    "/tokenize": {"content": "a = 1<|im_end|>", "add_special": True, "parse_special": True, "with_pieces": True},
    "/detokenize": {"tokens": [97, 98]},
    "/apply-template": CHAT,
    "/api/show": {"model": "m"},
    "/v1/events": {"type": "view", "completion_id": "cmpl-1", "choice_index": 0},
    "/generate": {"inputs": "a", "parameters": {"max_new_tokens": 4, "stop": ["x"], "details": True}},
    "/": {"inputs": "a", "parameters": {"max_new_tokens": 4, "details": True}, "stream": False},
    "/generate_stream": {"inputs": "a", "parameters": {"max_new_tokens": 4}},
    "/v1/health": {},
    "/backend/next_edit_autocomplete": SWEEP | {"use_bytes": True, "multiple_suggestions": True},
}
SEEDS |= {f"/v1/completions {number}": {"prompt": prompt} for number, prompt in enumerate(EDIT_PROMPTS)}
SEEDS |= {f"/v1/chat/completions {number}": _asked(message) for number, message in enumerate(EDIT_MESSAGES)}
SEEDS["/v1/completions tabby"] = {"language": "python", "segments": {"prefix": "a = ", "suffix": "\n"}, "user": "u"}
GETS = (
    "/",
    "/health",
    "/v1/models",
    "/v1/models/m",
    "/props",
    "/slots",
    "/info",
    "/api/tags",
    "/nothing",
    "/%00",
    "/..",
)
HEADERS = (
    "Authorization",
    "Origin",
    "Host",
    "Content-Type",
    "Sec-Fetch-Site",
    "x-api-key",
    "Accept",
    "Content-Encoding",
)
VALUES = ("", "Bearer", "Bearer secret", "x" * 300, "127.0.0.1", "cross-site", "none", "é", "text/event-stream", "gzip")
ALLOWED = {200, 400, 401, 403, 404, 405, 413, 415, 422, 501}


async def one(client: httpx.AsyncClient, rng: random.Random) -> int:
    """Send a request that is nearly right, and return the status of its answer."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    if rng.random() < 0.15:
        headers[rng.choice(HEADERS)] = rng.choice(VALUES)
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    if rng.random() < 0.1:
        method, path, body = rng.choice(("GET", "POST", "DELETE", "OPTIONS")), rng.choice(GETS), b""
    else:
        name = rng.choice(list(SEEDS))
        method, path, body = "POST", name.partition(" ")[0], encoded(bent(rng, SEEDS[name]))
        if rng.random() < 0.2:
            body = damaged(rng, body)
    async with asyncio.timeout(ANSWER_S):
        answer = await client.request(method, path, content=body, headers=raw)
    what = method, path, body[:300], answer.status_code, answer.text[:300]
    assert answer.status_code in ALLOWED, what
    assert "Traceback" not in answer.text, what
    if answer.status_code >= 400 and answer.headers.get("content-type") == "application/json":
        error = answer.json()["error"]
        sentence = error if isinstance(error, str) else error["message"]
        assert "\n" not in sentence, what
        assert sentence.endswith("."), what
    return answer.status_code


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """What was logged with a traceback, by the server, too, whose own log does not reach pytest's."""
    return lambda: [record.getMessage() for record in caplog.records if record.exc_info]


async def fuzz(stub: StubEngine, inputs: int, seed: int, log: logging.Handler) -> dict[int, int]:
    """How many answers had each status. The server logs to `log`, too."""
    rng = random.Random(seed)
    statuses: dict[int, int] = {}
    async with serving(KEY) as address, httpx.AsyncClient(base_url=address) as client:
        logging.getLogger("uvicorn.error").addHandler(log)
        for number in range(inputs):
            status = await one(client, rng)
            statuses[status] = statuses.get(status, 0) + 1
            if number % 10 == 0:
                await asyncio.to_thread(bytes_alone, rng, int(address.rpartition(":")[2]))
            stub.requests.clear()
        good = await client.post("/v1/completions", json=PROMPT, headers={"Authorization": f"Bearer {KEY}"})
        assert good.json()["choices"][0]["text"] == "a + b"
    return statuses


def bytes_alone(rng: random.Random, port: int) -> None:
    """Send what is hardly HTTP, and read whatever comes until the server or this closes the connection."""
    body = encoded(PROMPT)
    head = f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
    whole = damaged(rng, head.encode() + rng.choice((b"", b"Transfer-Encoding: chunked\r\n")) + b"\r\n" + body)
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as connection:
        connection.sendall(whole)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := _received(connection):
            answer += piece
    assert b"Traceback" not in answer
    assert not answer.startswith(b"HTTP/1.1 5"), (whole, answer)


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65536)
    except ConnectionError:
        return b""


@pytest.fixture
def stub(state_folder: Path) -> Iterator[StubEngine]:
    with StubEngine(state_folder) as stub:
        yield stub


async def test_half_a_character_is_answered(stub: StubEngine) -> None:
    """In what is answered again, such as the model's name, and in what is sent to the engine."""
    async with serving(KEY) as address, httpx.AsyncClient(base_url=address) as client:
        for path, seed in SEEDS.items():
            for name in seed:
                body = encoded(seed | {name: "\ud800", "\udfff": 1})
                answer = await client.post(path.partition(" ")[0], content=body, headers={"x-api-key": KEY})
                assert answer.status_code in ALLOWED, (path, name)


@pytest.mark.parametrize("key", [KEY, "wrong"])
@pytest.mark.parametrize("path", ["/v1/completions", "/api/chat", "/nothing"])
async def test_a_body_that_is_no_http_is_no_failure(
    stub: StubEngine, caplog: pytest.LogCaptureFixture, logged: Callable[[], list[str]], path: str, key: str
) -> None:
    """The server has begun to answer where it finds that the chunks are none."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    async with serving(KEY) as address, httpx.AsyncClient(base_url=address, headers={"x-api-key": KEY}) as client:
        logging.getLogger("uvicorn.error").addHandler(caplog.handler)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        writer.write(head.encode() + b"no chunk\r\n\r\n")
        assert (await asyncio.wait_for(reader.read(), ANSWER_S)).startswith(b"HTTP/1.1 4")
        writer.close()
        assert (await client.post("/v1/completions", json=PROMPT)).status_code == 200
    assert logged() == []


async def test_requests(stub: StubEngine, caplog: pytest.LogCaptureFixture, logged: Callable[[], list[str]]) -> None:
    statuses = await fuzz(stub, 400, 1, caplog.handler)
    assert statuses[200] > 50
    assert statuses[400] > 50
    assert logged() == []


@pytest.mark.prove
@pytest.mark.timeout(3600)
async def test_twenty_thousand_requests(
    stub: StubEngine, caplog: pytest.LogCaptureFixture, logged: Callable[[], list[str]]
) -> None:
    await fuzz(stub, 20_000, 2, caplog.handler)
    assert logged() == []


def test_every_path_with_a_body_is_a_seed() -> None:
    """A new dialect's path is fuzzed too. Of the many names of completions and feedback, some are enough."""
    routes = app(None, None, None).routes  # type: ignore[arg-type]
    posts = {str(getattr(each, "path", "")) for each in routes if "POST" in (getattr(each, "methods", None) or ())}
    assert {path for path in posts - set(SEEDS) if not path.endswith(("/completions", "/feedback"))} == set()
