"""Constraints over HTTP, on a tiny model: answers that keep to them, errors, and grammars made to do harm."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import httpx
import pytest

from bench.constraints.hostile import HOSTILE
from dlsp_engine.text import grammars
from tests.engine.serve.conftest import asking_together

GAP = {"prefix": "value = ", "suffix": "\n"}


def asked(client: httpx.Client, path: str, **body: object) -> list[dict]:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines() if line]


@pytest.mark.parametrize("mode", ["autoregressive", "verified", "diffusion"])
def test_answers_keep_to_it(client: httpx.Client, mode: str):
    constraint = {"choices": ["red", "green", "blue"]}
    (fill,) = (e for e in asked(client, "/v1/infill", gaps=[GAP], mode=mode, constraint=constraint) if "cost" in e)
    assert fill["text"] in constraint["choices"]
    assert fill["reason"] == "end"
    told = asked(client, "/v1/generate", prompt="Say", mode=mode, constraint={"regex": "[a-c]{3}"}, temperature=1, n=2)
    texts = [event["text"] for event in told if event["event"] == "generation"]
    assert len(texts) == 2
    assert all(len(text) == 3 and set(text) <= set("abc") for text in texts)


def test_many_gaps_share_one(client: httpx.Client):
    gaps = [GAP | {"prefix": prefix} for prefix in ("a", "b", "é", "")]
    told = asked(client, "/v1/infill", gaps=gaps, constraint={"regex": "[0-9]{2}"})
    texts = [event["text"] for event in told if event["event"] == "fill"]
    assert len(texts) == 4
    assert all(text.isdigit() for text in texts)


@pytest.mark.parametrize("path", ["/v1/infill", "/v1/generate"])
def test_errors_say_where(client: httpx.Client, path: str):
    asks = {"gaps": [GAP]} if path == "/v1/infill" else {"prompt": "a"}
    answer = client.post(path, json=asks | {"constraint": {"regex": "ab(c"}})
    assert answer.status_code == 400
    assert answer.json()["error"] == "'regex' in 'constraint' is not valid at character 3: unclosed group."


def test_names_and_brackets(client: httpx.Client):
    gap = {"prefix": "f(x.", "suffix": ")\n", "path": "a.py"}
    constraint = {"identifiers": ["append", "items"], "balanced": True}
    for end in ("line", "token"):
        told = asked(client, "/v1/infill", gaps=[gap], end=end, max_tokens=5, constraint=constraint)
        assert any(name.startswith(told[-2]["text"][:5]) for name in constraint["identifiers"]), told[-2]
    answer = client.post("/v1/infill", json={"gaps": [gap], "constraint": {"identifiers": ["a", "b c"]}})
    assert answer.status_code == 400
    assert answer.json()["error"] == "'identifiers' in 'constraint' must hold names; 'b c' is none."


def test_where_else_a_gap_ends_is_refused(client: httpx.Client):
    answer = client.post("/v1/infill", json={"gaps": [GAP], "end": "line", "constraint": {"regex": "a"}})
    assert answer.status_code == 400
    assert "'end'" in answer.json()["error"]
    assert client.post("/v1/sites", json={"sites": [], "constraint": {"regex": "a"}}).status_code == 400


def test_nobody_waits_while_a_grammar_compiles(client: httpx.Client, monkeypatch: pytest.MonkeyPatch):
    """Requests without a constraint, with one that is kept, and with constraints on code."""
    others = [{}, {"regex": "[0-9]{2}"}, {"identifiers": ["a"]}, {"balanced": True}]
    asked(client, "/v1/infill", gaps=[GAP], constraint=others[1])
    check, begun, go_on = grammars._check, Event(), Event()

    def slow(kind: str, source: dict) -> None:
        begun.set()
        assert go_on.wait(60)
        check(kind, source)

    monkeypatch.setattr(grammars, "_check", slow)
    with ThreadPoolExecutor(1) as beside:
        waiting = beside.submit(asked, client, "/v1/infill", gaps=[GAP], constraint={"regex": "[a-c]{3}"})
        try:
            assert begun.wait(60)
            for constraint in others:
                more = {"constraint": constraint} if constraint else {}
                assert asked(client, "/v1/infill", gaps=[GAP], max_tokens=4, **more)[-1] == {"event": "done"}
            assert not waiting.done()
        finally:
            go_on.set()
        assert waiting.result()[-1] == {"event": "done"}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_made_to_do_harm_ends_in_a_sentence(client: httpx.Client, name: str):
    """Or in an answer; and the engine goes on."""
    body = {"gaps": [GAP], "mode": "autoregressive", "max_tokens": 60, "temperature": 1, "constraint": HOSTILE[name]}
    answer = client.post("/v1/infill", json=body)
    last = [json.loads(line) for line in answer.text.splitlines() if line][-1]
    assert last == {"event": "done"} or ("constraint" in last["error"].lower() and "\n" not in last["error"]), last
    assert client.get("/health").json()["pid"]
    assert asked(client, "/v1/infill", gaps=[GAP], max_tokens=2)[-1] == {"event": "done"}


async def test_steered_answers_under_load_are_those_of_an_idle_engine(served: str):
    """Typing with names of its own in each gap, while gaps are filled, chats go on and typing is left in the middle."""
    gaps = [
        ({"prefix": f"f(x{number}.", "suffix": ")\n", "path": "a.py"}, [f"name{number}", f"other{number}", "append"])
        for number in range(8)
    ]

    def steered(number: int) -> dict:
        gap, names = gaps[number]
        constraint = {"identifiers": names, "balanced": True}
        return {"gaps": [gap], "end": "line", "max_tokens": 12, "constraint": constraint, "client": f"editor {number}"}

    async with asking_together(served) as client:

        async def fill(number: int) -> tuple[str, str]:
            answer = await client.post("/v1/infill", json=steered(number))
            (done,) = (e for line in answer.text.splitlines() if line and "cost" in (e := json.loads(line)))
            return done["text"], done["reason"]

        async def left(number: int) -> None:
            async with client.stream("POST", "/v1/infill", json=steered(number) | {"max_tokens": 500}) as answer:
                async for line in answer.aiter_lines():
                    if line:
                        return

        alone = [await fill(number) for number in range(len(gaps))]
        work = {"gaps": [{"prefix": f"{at} = ", "suffix": "\n"} for at in range(6)], "max_tokens": 60}
        chat = {"prompt": "Say", "max_tokens": 60, "constraint": {"regex": "[a-c]+"}, "client": "chat"}
        others = [
            asyncio.ensure_future(client.post("/v1/infill", json=work | {"client": "agent"})),
            asyncio.ensure_future(client.post("/v1/generate", json=chat)),
        ]
        for _ in range(2):
            await asyncio.gather(*(left(number) for number in range(4)))
            assert await asyncio.gather(*(fill(number) for number in range(len(gaps)))) == alone
        for (_, names), (text, _) in zip(gaps, alone, strict=True):
            assert any(text.startswith(name) or name.startswith(text) for name in names), text
        for other in others:
            answer = await other
            assert answer.status_code == 200
            assert json.loads(answer.text.splitlines()[-1]) == {"event": "done"}
