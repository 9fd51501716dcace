"""Bodies and headers that no client should send: a clear 4xx or an answer, never a 5xx, a hang or a traceback."""

import asyncio
import json
import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from dlsp_engine.engine import Engine
from dlsp_engine.serve import app as serving
from dlsp_engine.serve.app import Service, app
from dlsp_engine.serve.scheduler import Scheduler
from dlsp_engine.text.chat import Chat
from tests.faults.mutation import bent, damaged, encoded

# How much of the processor one input may take, and after how long it hangs, also on a busy machine.
WORK_S, HANG_S = 5.0, 120.0
GAP = {"prefix": "def f(x):\n    return ", "suffix": "\n", "middle": "", "path": "a.py", "session": "s"}
SEED: dict[str, Any] = {
    "gaps": [GAP, GAP],
    "files": [{"path": "b.py", "text": "x = 1\n"}],
    **{"mode": "verified", "schedule": "split", "draft": 2, "copy": True, "rule": "threshold", "threshold": 0.9},
    **{"canvas": 4, "end": "line", "stop": ["x"], "max_tokens": 2, "temperature": 0, "seed": 0, "priority": "typing"},
    "quiet": {"repeat": 1},
}
CHAT: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b", "tool_calls": [{"name": "f"}]},
    ],
    "tools": [{"name": "f"}],
    **{"max_tokens": 2, "n": 1, "temperature": 1, "top_p": 0.9, "top_k": 3, "min_p": 0.1, "session": "s"},
}
TEXT = {"prompt": ["def f(", 3], "max_tokens": 2, "stop": ["x"]}
SHORT = {name: SEED[name] for name in ("gaps", "max_tokens")}


async def one(client: httpx.AsyncClient, rng: random.Random) -> int:
    asks, seeds = rng.choice((("/v1/infill", (SEED, SEED, SHORT)), ("/v1/generate", (CHAT, TEXT))))
    body = encoded(bent(rng, rng.choice(seeds)))
    if rng.random() < 0.3:
        body = damaged(rng, body)
    headers = {"Authorization": "Bearer secret"}
    if rng.random() < 0.1:
        header = rng.choice(("Authorization", "Origin", "Host", "Content-Type", "Content-Length"))
        headers[header] = rng.choice(("", "Bearer", "x" * 300, "é".encode("latin-1").decode("latin-1"), "127.0.0.1"))
    path = rng.choice((asks,) * 20 + ("/health", "/metrics", "/nothing", "/v1/shutdown/x"))
    method = "POST" if path == asks else rng.choice(("GET", "POST", "DELETE"))
    began = time.process_time()
    async with asyncio.timeout(HANG_S):
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        answer = await client.request(method, path, content=body, headers=raw)
    assert time.process_time() - began < WORK_S, body[:500]
    assert answer.status_code in (200, 400, 401, 403, 404, 405, 413), (body[:500], answer.text)
    assert "Traceback" not in answer.text
    if path == asks and answer.status_code == 200:
        last = json.loads(answer.text.splitlines()[-1])
        assert last["event"] == "done", (body[:500], last)
    elif answer.headers.get("content-type") == "application/json" and answer.status_code != 200:
        sentence = answer.json()["error"]
        assert sentence.endswith(".")
        assert "\n" not in sentence
    return answer.status_code


async def fuzz(engine: Engine, inputs: int, seed: int) -> dict[int, int]:
    scheduler = Scheduler(engine)
    service = Service(scheduler, "http://127.0.0.1:1", "secret", "nonce", "tiny", "0", "float32", None)
    rng = random.Random(seed)
    statuses: dict[int, int] = {}
    transport = httpx.ASGITransport(app(service))
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            for _ in range(inputs):
                status = await one(client, rng)
                statuses[status] = statuses.get(status, 0) + 1
            assert not scheduler.busy
            good = await client.post("/v1/infill", json=SEED, headers={"Authorization": "Bearer secret"})
            assert good.text.endswith('{"event": "done"}\n')
    finally:
        scheduler.close()
        scheduler.join()
    return statuses


@pytest.fixture
def short(tiny: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Answers of many tokens are none of this test's business."""
    for name in ("parse", "parse_generate"):
        monkeypatch.setattr(f"dlsp_engine.serve.app.{name}", _short(getattr(serving, name)))
    template = "{% for message in messages %}{{ message.role }}: {{ message.content }}<|end|>{% endfor %}"
    monkeypatch.setattr(tiny, "chat", Chat(template, tiny.tokenizer.added))
    return tiny


def _short(parse: Callable[..., Any]) -> Callable[..., Any]:
    def parse_short(*given: Any) -> Any:
        wanted = parse(*given)
        return replace(wanted, options=replace(wanted.options, max_tokens=min(2, wanted.options.max_tokens)))

    return parse_short


async def test_bodies(short: Engine) -> None:
    statuses = await fuzz(short, 1_000, seed=1)
    assert statuses[200] > 100
    assert statuses[400] > 100


@pytest.mark.prove
@pytest.mark.timeout(3600)
async def test_twenty_thousand_bodies(short: Engine) -> None:
    await fuzz(short, 20_000, seed=2)
