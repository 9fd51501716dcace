"""Chats in OpenAI's and Ollama's form: what the engine is asked, and what the client is answered."""

import json
from typing import Any

import httpx
import pytest

from tests.dlsp.api.test_dialects import events
from tests.dlsp.stub_engine import COST, StubEngine

CHAT, OLLAMA = "/v1/chat/completions", "/api/chat"
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "weather", "description": "Of a city", "parameters": PARAMETERS}}
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'
HELLO = {"model": "m", "messages": [{"role": "user", "content": "Hello?"}]}
WITH_TOOL = HELLO | {"tools": [TOOL]}


def streamed(answer: httpx.Response, index: int = 0) -> list[dict[str, Any]]:
    """The choices of this index in a stream's chunks."""
    chunks = [chunk for chunk in events(answer) if chunk != "[DONE]"]
    return [choice for chunk in chunks for choice in chunk["choices"] if choice["index"] == index]


def content(choices: list[dict[str, Any]]) -> str:
    return "".join(choice["delta"].get("content") or "" for choice in choices)


async def test_chat(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: "Hello there!"
    body = HELLO | {"max_completion_tokens": 9, "stop": "###", "seed": 3, "temperature": 0}
    reply = (await api.post(CHAT, json=body)).json()
    (asked,) = stub.requests
    assert asked["messages"] == [{"role": "user", "content": "Hello?"}]
    assert {name: asked[name] for name in ("max_tokens", "stop", "seed", "temperature", "mode")} == {
        "max_tokens": 9,
        "stop": ["###"],
        "seed": 3,
        "temperature": 0,
        "mode": "verified",
    }
    message = {"role": "assistant", "content": "Hello there!", "refusal": None}
    assert reply["choices"] == [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}]
    assert (reply["object"], reply["model"], type(reply["created"])) == ("chat.completion", "m", int)
    assert reply["usage"]["total_tokens"] == 31 + 7


async def test_what_a_request_leaves_out(api: httpx.AsyncClient, stub: StubEngine) -> None:
    """An answer may be as long as the context, and is sampled as the dialect's clients know it."""
    await api.post(CHAT, json=HELLO)
    await api.post(CHAT, json=HELLO)
    await api.post(OLLAMA, json=HELLO)
    first, second, ollama = stub.requests
    assert first["max_tokens"] == ollama["max_tokens"] == 32_768
    assert (first["temperature"], first["top_p"], first["top_k"]) == (0.7, 0.8, 20)
    assert (ollama["temperature"], ollama["top_p"], ollama["top_k"]) == (0.8, 0.9, 40)
    assert first["seed"] != second["seed"]


async def test_messages_of_every_role(api: httpx.AsyncClient, stub: StubEngine) -> None:
    called = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Rome"}, {"type": "text", "text": "?"}], "name": "ada"},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "c1", "content": "18 C"},
    ]
    assert (await api.post(CHAT, json=WITH_TOOL | {"messages": messages})).status_code == 200
    call = {"type": "function", "function": {"name": "weather", "arguments": {"city": "Rome"}}}
    assert stub.requests[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Rome?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "18 C"},
    ]
    assert stub.requests[0]["tools"] == [TOOL]


async def test_a_chat_streamed(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: "Hello there, you!"
    answer = await api.post(CHAT, json=HELLO | {"stream": True, "stream_options": {"include_usage": True}})
    assert answer.headers["content-type"].startswith("text/event-stream")
    *chunks, usage, done = events(answer)
    choices = streamed(answer)
    assert content(choices) == "Hello there, you!"
    assert [each["delta"].get("role") for each in choices] == ["assistant", None, None]
    assert [each["finish_reason"] for each in choices] == [None, None, "stop"]
    assert choices[-1]["delta"] == {}
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert (usage["choices"], usage["usage"]["prompt_tokens"], done) == ([], 31, "[DONE]")


async def test_a_call(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: "Let me see.\n" + CALL
    (choice,) = (await api.post(CHAT, json=WITH_TOOL)).json()["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == "Let me see."
    (call,) = choice["message"]["tool_calls"]
    assert (call["type"], call["function"]["name"]) == ("function", "weather")
    assert json.loads(call["function"]["arguments"]) == {"city": "Rome"}
    assert call["id"].startswith("call-")
    stub.answer = lambda request: CALL
    (choice,) = (await api.post(CHAT, json=WITH_TOOL)).json()["choices"]
    assert choice["message"]["content"] is None


async def test_calls_streamed(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: f"Let me see.\n{CALL}\n{CALL} "
    choices = streamed(await api.post(CHAT, json=WITH_TOOL | {"stream": True}))
    assert content(choices) == "Let me see."
    pieces = [piece for each in choices for piece in each["delta"].get("tool_calls", ())]
    assert [piece["index"] for piece in pieces] == [0, 0, 1, 1]
    assert [piece.get("id", "")[:5] for piece in pieces] == ["call-", "", "call-", ""]
    assert json.loads(pieces[0]["function"]["arguments"] + pieces[1]["function"]["arguments"]) == {"city": "Rome"}
    assert choices[-1]["finish_reason"] == "tool_calls"
    alone = streamed(await api.post(CHAT, json=WITH_TOOL | {"stream": True, "parallel_tool_calls": False}))
    assert {piece["index"] for each in alone for piece in each["delta"].get("tool_calls", ())} == {0}


async def test_tool_choice_none_offers_no_tools(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: CALL
    (choice,) = (await api.post(CHAT, json=WITH_TOOL | {"tool_choice": "none"})).json()["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == (CALL, "stop")
    assert "tools" not in stub.requests[0]


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer", "default": None}}}
LIMITED = {
    "type": "object",
    "properties": {"a": {"type": "integer", "default": None, "minimum": 1 - 2**53, "maximum": 2**53 - 1}},
}


@pytest.mark.parametrize(
    ("path", "form", "expected"),
    [
        (CHAT, {"response_format": {"type": "text"}}, None),
        (CHAT, {"response_format": {"type": "json_object"}}, {"type": "object"}),
        (CHAT, {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}}, LIMITED),
        (OLLAMA, {"format": "json", "stream": False}, {"type": "object"}),
        (OLLAMA, {"format": SCHEMA, "stream": False}, LIMITED),
    ],
)
async def test_json(api: httpx.AsyncClient, stub: StubEngine, path: str, form: Any, expected: Any) -> None:
    stub.answer = lambda request: '{"a": 1}'
    reply = (await api.post(path, json=HELLO | form)).json()
    message = reply["choices"][0]["message"] if path == CHAT else reply["message"]
    assert message["content"] == '{"a": 1}'
    assert stub.requests[0].get("constraint") == (expected and {"json_schema": expected})


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"minimum": 0}, {"minimum": 0, "maximum": 2**53 - 1}),
        ({"exclusiveMinimum": 0, "exclusiveMaximum": 9}, {"exclusiveMinimum": 0, "exclusiveMaximum": 9}),
        ({"enum": [1, 2]}, {"enum": [1, 2]}),
        ({"const": {"type": "integer"}}, {"const": {"type": "integer"}}),
    ],
)
async def test_the_limits_that_a_schema_has_stay(
    api: httpx.AsyncClient, stub: StubEngine, given: Any, sent: Any
) -> None:
    body = {"format": {"anyOf": [{"type": "integer"} | given]}, "stream": False}
    await api.post(OLLAMA, json=HELLO | body)
    assert stub.requests[0]["constraint"] == {"json_schema": {"anyOf": [{"type": "integer"} | sent]}}


OTHER = {"type": "function", "function": {"name": "now"}}
REFERRING = {"type": "object", "properties": {"c": {"$ref": "#/$defs/City"}}, "$defs": {"City": {"type": "string"}}}
REFERRING_TOOL = {"type": "function", "function": {"name": "visit", "parameters": REFERRING}}


@pytest.mark.parametrize(
    ("choice", "names"),
    [("required", ["weather", "now"]), ({"type": "function", "function": {"name": "now"}}, ["now"])],
)
async def test_a_call_that_must_be(api: httpx.AsyncClient, stub: StubEngine, choice: Any, names: list[str]) -> None:
    stub.answer = lambda request: '{"name": "now", "arguments": {}}'
    body = HELLO | {"tools": [TOOL, OTHER], "tool_choice": choice}
    (found,) = (await api.post(CHAT, json=body)).json()["choices"]
    assert found["message"]["tool_calls"][0]["function"] == {"name": "now", "arguments": "{}"}
    schema = stub.requests[0]["constraint"]["json_schema"]
    assert [call["properties"]["name"]["const"] for call in schema["anyOf"]] == names
    assert stub.requests[0]["tools"] == [TOOL, OTHER]


async def test_definitions_of_a_function_stay_its_own(api: httpx.AsyncClient, stub: StubEngine) -> None:
    await api.post(CHAT, json=HELLO | {"tools": [TOOL, REFERRING_TOOL], "tool_choice": "required"})
    schema = stub.requests[0]["constraint"]["json_schema"]
    assert schema["$defs"] == {"1.City": {"type": "string"}}
    arguments = schema["anyOf"][1]["properties"]["arguments"]
    assert arguments == {"type": "object", "properties": {"c": {"$ref": "#/$defs/1.City"}}}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (HELLO | {"tool_choice": "required"}, 400),
        (WITH_TOOL | {"tool_choice": {"type": "function", "function": {"name": "other"}}}, 400),
        (WITH_TOOL | {"tool_choice": "any"}, 400),
        (HELLO | {"response_format": {"type": "xml"}}, 400),
        (WITH_TOOL | {"response_format": {"type": "json_object"}}, 501),
    ],
)
async def test_a_form_that_cannot_be_had(api: httpx.AsyncClient, body: dict[str, Any], status: int) -> None:
    answer = await api.post(CHAT, json=body)
    assert answer.status_code == status
    assert answer.json()["error"]["param"] == list(body)[-1]


@pytest.mark.parametrize("temperature", [0, 1])
async def test_several_answers(api: httpx.AsyncClient, stub: StubEngine, temperature: float) -> None:
    stub.answer = lambda request: f"seed {request['seed']}"
    body = HELLO | {"n": 2, "seed": 5, "temperature": temperature}
    reply = (await api.post(CHAT, json=body)).json()
    expected = ["seed 5", "seed 6" if temperature else "seed 5"]
    assert [choice["message"]["content"] for choice in reply["choices"]] == expected
    assert reply["usage"]["prompt_tokens"] == 31  # the prompt counts once
    answer = await api.post(CHAT, json=body | {"stream": True})
    assert [content(streamed(answer, index)) for index in range(2)] == expected


async def test_stop_texts_that_the_engine_does_not_take(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: "one two three"
    body = HELLO | {"stop": [*(f"@{number}" for number in range(20)), " two"]}
    assert (await api.post(CHAT, json=body)).json()["choices"][0]["message"]["content"] == "one"
    assert content(streamed(await api.post(CHAT, json=body | {"stream": True}))) == "one"


async def test_log_probabilities(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: "Grüß Gott"
    (choice,) = (await api.post(CHAT, json=HELLO | {"logprobs": True, "top_logprobs": 2})).json()["choices"]
    first, second = choice["logprobs"]["content"]
    assert (first["token"], first["logprob"], first["bytes"]) == ("Grüß ", -0.5, list("Grüß ".encode()))
    assert [each["token"] for each in second["top_logprobs"]] == ["Gott"]  # no others are known


async def test_diffusing(api: httpx.AsyncClient, stub: StubEngine) -> None:
    """Each chunk has the whole text, what is drafted included; the last one's is final."""
    stub.answer = lambda request: "one two three"
    choices = streamed(answer := await api.post(CHAT, json=HELLO | {"stream": True, "diffusing": True}))
    assert [each["delta"].get("content") for each in choices] == [*["one two three"] * 3, None]
    progress = [chunk["diffusion_meta"]["diffusion_progress"] for chunk in events(answer)[:-2]]
    assert progress == [round(8 / 13, 3), 1.0, 1.0]


async def test_a_chat_that_goes_on_keeps_its_session(api: httpx.AsyncClient, stub: StubEngine) -> None:
    first = [{"role": "system", "content": "Brief."}, {"role": "user", "content": "A?"}]
    more = [*first, {"role": "assistant", "content": "B"}, {"role": "user", "content": "C?"}]
    other = [{"role": "system", "content": "Brief."}, {"role": "user", "content": "D?"}]
    for messages in (first, more, other, more):
        await api.post(CHAT, json={"messages": messages})
    sessions = [request["session"] for request in stub.requests]
    assert sessions[0] == sessions[1] == sessions[3] != sessions[2]


async def test_effort(api: httpx.AsyncClient, stub: StubEngine) -> None:
    """It says how an answer is drafted, and of how many the best is given."""
    body = HELLO | {"seed": 5, "temperature": 1}
    asked: dict[str, tuple[str, int]] = {}
    for effort in ("instant", "low", "medium", "high"):
        await api.post(CHAT, json=body | {"reasoning_effort": effort})
        asked[effort] = stub.requests[-1]["mode"], stub.requests[-1]["n"]
    assert asked["instant"] == ("diffusion", 1)
    assert [asked[effort] for effort in ("low", "medium", "high")] == [("verified", count) for count in (1, 3, 8)]
    assert (await api.post(CHAT, json=body | {"reasoning_effort": "huge"})).status_code == 400
    assert (await api.post(CHAT, json=body | {"reasoning_effort": "high", "n": 3})).status_code == 400


async def test_the_likeliest_of_several_is_given(api: httpx.AsyncClient, stub: StubEngine) -> None:
    def generation(answer: int, text: str, log_p: float) -> dict[str, Any]:
        end = {"event": "generation", "answer": answer, "text": text, "reason": "end", "cost": COST}
        return end | {"confidence": [[1, log_p]] * len(text)}

    answers = [("a", -0.9), ("bb", -0.1), ("ccc", -0.5)]
    told = [generation(number, *answer) for number, answer in enumerate(answers)]
    stub.raw = b"".join(json.dumps(each).encode() + b"\n" for each in [*told, {"event": "done"}])
    body = HELLO | {"temperature": 1, "reasoning_effort": "medium"}
    reply = (await api.post(CHAT, json=body)).json()
    assert [choice["message"]["content"] for choice in reply["choices"]] == ["bb"]
    assert content(streamed(await api.post(CHAT, json=body | {"stream": True}))) == "bb"


async def test_a_greedy_answer_competes_with_drawn_ones(api: httpx.AsyncClient, stub: StubEngine) -> None:
    await api.post(CHAT, json=HELLO | {"temperature": 0, "reasoning_effort": "medium", "n": 2})
    assert [(request["temperature"], request["n"]) for request in stub.requests] == [(0, 1), (0.6, 2)]


async def test_high_effort_gives_the_answer_that_is_likely_and_that_the_model_finds_right(
    api: httpx.AsyncClient, stub: StubEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each different answer is checked once, in the chat behind it. Neither the likeliest answer wins nor the surest
    yes, but the highest product.
    """
    verdicts = {"four": ("Yes", -0.1), "five": ("Yes", -0.2), "six": ("No", -0.1)}
    written = iter(["four", "five", "five", "six", "six", "six", "six", "six"])

    def event(answer: int, text: str, log_p: float) -> bytes:
        told = {"event": "generation", "answer": answer, "text": text, "reason": "end", "cost": COST}
        return json.dumps(told | {"confidence": [[len(text), log_p]]}).encode() + b"\n"

    def reply(request: dict[str, Any]) -> bytes:
        if "constraint" in request:
            assert request["constraint"] == {"choices": ["Yes", "No"]}
            told = event(0, *verdicts[request["messages"][-2]["content"]])
        else:
            likelihood = {"four": -0.9, "five": -0.3, "six": -0.1}
            told = b"".join(event(n, text, likelihood[text]) for n in range(request["n"]) for text in [next(written)])
        return told + b'{"event": "done"}\n'

    monkeypatch.setattr(stub, "generation", reply)
    answer = await api.post(CHAT, json=HELLO | {"temperature": 1, "reasoning_effort": "high"})
    assert answer.json()["choices"][0]["message"]["content"] == "five"
    assert len(stub.requests) == 1 + len(verdicts)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "king", "content": "x"}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, "messages"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"function": {"arguments": "{"}}]}]}, "messages"),
        (HELLO | {"tools": [{"type": "web_search"}]}, "tools"),
        (HELLO | {"tools": [{"type": "function", "function": {}}]}, "tools"),
        (HELLO | {"max_tokens": 0}, "max_tokens"),
        (HELLO | {"n": 99}, "n"),
    ],
)
async def test_a_wrong_field(api: httpx.AsyncClient, body: Any, field: str) -> None:
    answer = await api.post(CHAT, json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == field


async def test_ollama_chat(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: "Hello there, you!"
    body = HELLO | {"options": {"num_predict": 7, "temperature": 0, "stop": ["#"]}, "think": False}
    lines = [json.loads(line) for line in (await api.post(OLLAMA, json=body)).text.splitlines()]
    assert stub.requests[0]["max_tokens"] == 7
    assert "".join(line["message"]["content"] for line in lines) == "Hello there, you!"
    assert [line["done"] for line in lines] == [False, False, True]
    assert (lines[-1]["done_reason"], lines[-1]["prompt_eval_count"]) == ("stop", 31)
    whole = (await api.post(OLLAMA, json=body | {"stream": False})).json()
    assert (whole["message"], whole["done"]) == ({"role": "assistant", "content": "Hello there, you!"}, True)
    assert (await api.post(OLLAMA, json={"model": "m", "messages": []})).json()["done_reason"] == "load"


async def test_ollama_puts_a_plain_prompt_into_the_chat_template(api: httpx.AsyncClient, stub: StubEngine) -> None:
    """As Ollama does unless a request is raw, has a suffix, or was templated by the client."""
    stub.answer = lambda request: "Hello there, you!"
    body = {"model": "m", "prompt": "Hello?", "system": "Be brief.", "options": {"num_predict": 7}}
    for stream in (False, True):
        lines = [
            json.loads(line)
            for line in (await api.post("/api/generate", json=body | {"stream": stream})).text.splitlines()
        ]
        assert "".join(line["response"] for line in lines) == "Hello there, you!"
        assert lines[-1]["done"] is True
    assert [message["content"] for message in stub.requests[0]["messages"]] == ["Be brief.", "Hello?"]
    assert (stub.requests[0]["max_tokens"], stub.requests[0]["temperature"]) == (7, 0.8)
    assert (await api.post("/api/generate", json=body | {"format": "json"})).status_code == 200
    assert stub.requests[-1]["constraint"] == {"json_schema": {"type": "object"}}
    for gap in ({"raw": True}, {"suffix": "x"}, {"prompt": "<PRE> a <SUF>b <MID>"}):
        await api.post("/api/generate", json=body | gap)
        assert "gaps" in stub.requests[-1]


async def test_ollama_calls(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: CALL
    for stream in (False, True):
        answer = await api.post(OLLAMA, json=WITH_TOOL | {"stream": stream})
        lines = [json.loads(line) for line in answer.text.splitlines()]
        calls = [call for line in lines for call in line["message"].get("tool_calls", ())]
        assert calls == [{"function": {"name": "weather", "arguments": {"city": "Rome"}}}]
    called = {"role": "assistant", "content": "", "tool_calls": calls}
    messages = [*HELLO["messages"], called, {"role": "tool", "tool_name": "weather", "content": "18 C"}]
    await api.post(OLLAMA, json=WITH_TOOL | {"messages": messages})
    asked = stub.requests[-1]["messages"]
    assert asked[1]["tool_calls"][0]["function"]["arguments"] == {"city": "Rome"}
    assert asked[2] == {"role": "tool", "content": "18 C"}
    assert (await api.post(OLLAMA, json={"messages": [{"role": "user", "images": ["aa"]}]})).status_code == 400
