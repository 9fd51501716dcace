"""Each dialect: what the engine is asked, and what the client is answered."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.dlsp.api.conftest import serving
from tests.dlsp.stub_engine import COST, StubEngine

BEFORE, AFTER = "def add(a, b):\n    return ", "\n"
TEMPLATED = f"<|fim_prefix|>{BEFORE}<|fim_suffix|>{AFTER}<|fim_middle|>"


def asked(stub: StubEngine) -> dict[str, Any]:
    return stub.requests[-1]


def gap(stub: StubEngine) -> tuple[str, str]:
    """The text before and after the gap that the engine was asked for last."""
    last = asked(stub)["gaps"][0]
    return last["prefix"] + last["middle"], last["suffix"]


def events(answer: httpx.Response) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


@pytest.mark.parametrize("path", ["/v1/completions", "/beta/completions", "/completions", "/v1/engines/m/completions"])
async def test_completions(api: httpx.AsyncClient, stub: StubEngine, path: str) -> None:
    answer = (await api.post(path, json={"model": "m", "prompt": BEFORE, "suffix": AFTER, "max_tokens": 9})).json()
    assert gap(stub) == (BEFORE, AFTER)
    assert asked(stub)["max_tokens"] == 9
    assert asked(stub)["temperature"] == 0
    assert answer["choices"] == [{"index": 0, "text": "a + b", "logprobs": None, "finish_reason": "stop"}]
    assert (answer["object"], answer["model"], type(answer["created"])) == ("text_completion", "m", int)
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]


async def test_completions_streamed(api: httpx.AsyncClient) -> None:
    body = {"prompt": TEMPLATED, "stream": True, "stream_options": {"include_usage": True}}
    answer = await api.post("/v1/completions", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    *chunks, usage, done = events(answer)
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == "a + b"
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, "stop"]
    assert usage["choices"] == []
    assert usage["usage"]["prompt_tokens"] == 31
    assert done == "[DONE]"


async def test_several_prompts_and_choices(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: f"a {request['gaps'][0]['prefix']} {request['seed']}"
    body = {"prompt": ["x", "y"], "n": 2, "temperature": 0.7, "seed": 5}
    for stream in (False, True):
        answer = await api.post("/v1/completions", json=body | {"stream": stream})
        if stream:
            texts = ["", "", "", ""]
            for chunk in events(answer)[:-1]:
                texts[chunk["choices"][0]["index"]] += chunk["choices"][0]["text"]
        else:
            texts = [choice["text"] for choice in answer.json()["choices"]]
        assert texts == ["a x 5", "a x 6", "a y 5", "a y 6"]


async def test_the_best_of_several(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: f"answer {request['seed']}"
    body = {"prompt": "x", "n": 2, "best_of": 3, "temperature": 0.7, "seed": 5}
    reply = (await api.post("/v1/completions", json=body)).json()
    assert len({choice["text"] for choice in reply["choices"]}) == 2
    assert sorted(request["seed"] for request in stub.requests) == [5, 6, 7]
    assert reply["usage"]["completion_tokens"] == 3 * COST["tokens"]
    assert (await api.post("/v1/completions", json=body | {"stream": True})).status_code == 400


async def test_echo(api: httpx.AsyncClient) -> None:
    answer = (await api.post("/v1/completions", json={"prompt": "x", "echo": True})).json()
    assert answer["choices"][0]["text"] == "xa + b"


async def test_null_and_unknown_fields(api: httpx.AsyncClient) -> None:
    body = {"prompt": "x", "seed": None, "logprobs": None, "suffix": None, "extra": {"language": "go"}, "lora": []}
    assert (await api.post("/v1/completions", json=body)).status_code == 200


async def test_many_stop_texts(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: "a line\ntwo###three"
    stops = ["<|endoftext|>", "<|fim_prefix|>", *(f"@{number}" for number in range(20)), "###"]
    for stream in (False, True):
        answer = await api.post("/v1/completions", json={"prompt": "x", "stop": stops, "stream": stream})
        choices = [each["choices"][0] for each in events(answer)[:-1]] if stream else answer.json()["choices"]
        assert "".join(choice["text"] for choice in choices) == "a line\ntwo"
        assert choices[-1]["finish_reason"] == "stop"
    assert len(asked(stub)["stop"]) <= 16


SAMPLED = {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.05}


@pytest.mark.parametrize(
    ("path", "body", "seed"),
    [
        ("/v1/completions", SAMPLED, "seed"),
        ("/v1/fim/completions", SAMPLED, "random_seed"),
        ("/infill", {"input_prefix": "a", "input_suffix": ""} | SAMPLED, "seed"),
        ("/api/generate", {"prompt": "a", "suffix": "b", "stream": False, "options": SAMPLED}, "seed"),
        ("/generate", {"inputs": "a", "parameters": SAMPLED | {"do_sample": True}}, "seed"),
    ],
)
async def test_sampling(api: httpx.AsyncClient, stub: StubEngine, path: str, body: dict[str, Any], seed: str) -> None:
    """What a client says reaches the engine. A request that says nothing is greedy; one without a seed has its own."""
    inner = next((name for name in ("options", "parameters") if name in body), None)
    seeded = body | ({inner: body[inner] | {seed: 7}} if inner else {seed: 7})
    for each in (seeded, body, body, body | dict.fromkeys(SAMPLED) | ({inner: {}} if inner else {})):
        assert (await api.post(path, json=each)).status_code == 200
    first, *unseeded, silent = stub.requests
    assert {name: first[name] for name in SAMPLED} == SAMPLED
    assert first["seed"] == 7
    assert unseeded[0]["seed"] != unseeded[1]["seed"]
    assert silent["temperature"] == 0
    assert "top_p" not in silent


async def test_any_seed_is_minus_one_and_another_negative_one_is_a_seed(
    api: httpx.AsyncClient, stub: StubEngine
) -> None:
    for seed in (-1, -1, -5, -5):
        await api.post("/v1/completions", json={"prompt": "a", "temperature": 1, "seed": seed, "top_k": -1})
    seeds = [request["seed"] for request in stub.requests]
    assert seeds[0] != seeds[1]
    assert seeds[2] == seeds[3]
    assert {request["top_k"] for request in stub.requests} == {0}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"prompt": [1, 2, 3]}, "prompt"),
        ({"prompt": "x", "max_tokens": "many"}, "max_tokens"),
        ({"prompt": "x", "n": 0}, "n"),
        ({"prompt": "x", "stop": [1]}, "stop"),
        ({"prompt": {}}, "prompt"),
    ],
)
async def test_a_wrong_field(api: httpx.AsyncClient, body: Any, field: str) -> None:
    answer = await api.post("/v1/completions", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == field


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"a":' * 5000, b"\xff"])
@pytest.mark.parametrize("path", ["/v1/completions", "/infill", "/api/generate", "/v1/fim/completions", "/generate"])
async def test_no_json(api: httpx.AsyncClient, path: str, content: bytes) -> None:
    answer = await api.post(path, content=content)
    assert answer.status_code in (200, 400)
    assert content == b"" or answer.json()["error"]


async def test_what_the_engine_refuses(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.status, stub.raw = 400, b'{"error": "The prompt is too long."}'
    for stream in (False, True):
        answer = await api.post("/v1/completions", json={"prompt": "x", "stream": stream})
        assert answer.status_code == 400
        assert answer.json()["error"]["message"] == "The prompt is too long."


async def test_an_error_in_the_middle_of_a_stream(api: httpx.AsyncClient, stub: StubEngine) -> None:
    canvas = {"event": "canvas", "gap": 0, "committed": "a", "canvas": [], "confidence": [[1, -0.1]]}
    stub.raw = (json.dumps(canvas) + '\n{"event": "error", "error": "Out of memory."}\n').encode()
    first, error = events(await api.post("/v1/completions", json={"prompt": "x", "stream": True}))
    assert first["choices"][0]["text"] == "a"
    assert error["error"]["message"] == "Out of memory."


async def test_no_engine(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.raw = b""
    answer = await api.post("/v1/completions", json={"prompt": "x"})
    assert answer.status_code == 503
    assert answer.headers["x-should-retry"] == "false"


async def test_an_engine_that_ended_is_asked_again(api: httpx.AsyncClient, stub: StubEngine) -> None:
    broken = [True]

    def answer(request: dict[str, Any]) -> str:
        if broken.pop() if broken else False:
            raise ConnectionResetError
        return "a + b"

    stub.answer = answer
    assert (await api.post("/v1/completions", json={"prompt": "x"})).json()["choices"][0]["text"] == "a + b"
    assert len(stub.requests) == 2


async def test_closing_the_connection_cancels(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.hold.set()
    for stream in (False, True):
        seen = len(stub.requests)
        request = asyncio.create_task(api.post("/v1/completions", json={"prompt": "x", "stream": stream}))
        await asyncio.to_thread(stub.wait_for, lambda it, seen=seen: len(it.requests) > seen)
        dropped = len(stub.dropped)
        request.cancel()
        await asyncio.to_thread(stub.wait_for, lambda it, dropped=dropped: len(it.dropped) > dropped)


async def test_typing_reads_only_what_is_new(api: httpx.AsyncClient, stub: StubEngine) -> None:
    for typed in ("", "a", "a +", "a + b"):
        await api.post("/v1/completions", json={"prompt": BEFORE + typed, "suffix": AFTER})
    gaps = [request["gaps"][0] for request in stub.requests]
    assert {(each["prefix"], each["session"]) for each in gaps} == {(BEFORE, gaps[0]["session"])}
    assert [each["middle"] for each in gaps] == ["", "a", "a +", "a + b"]
    await api.post("/v1/completions", json={"prompt": "something else", "suffix": AFTER})
    assert stub.requests[-1]["gaps"][0]["session"] != gaps[0]["session"]


async def test_requests_at_once_do_not_share_a_session(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.hold.set()
    requests = [asyncio.create_task(api.post("/v1/completions", json={"prompt": BEFORE})) for _ in range(3)]
    await asyncio.to_thread(stub.wait_for, lambda it: len(it.requests) == 3)
    stub.hold.clear()
    assert {(await each).json()["choices"][0]["text"] for each in requests} == {"a + b"}
    assert len({request["gaps"][0]["session"] for request in stub.requests}) == 3
    assert len(set(stub.clients)) == 3


async def test_the_examples_of_the_page(api: httpx.AsyncClient) -> None:
    page = (Path(__file__).parents[3] / "docs" / "api.md").read_text(encoding="utf-8")
    examples = re.findall(r"curl http://127\.0\.0\.1:8787(\S+) --json \\\n +'(.+)'", page)
    assert len(examples) == 2
    for path, body in examples:
        answer = await api.post(path, content=body)
        assert answer.status_code == 200, answer.text


async def test_only_the_chosen_dialects_are_served(stub: StubEngine) -> None:
    async with serving(dialects=("ollama",)) as address, httpx.AsyncClient(base_url=address) as client:
        assert (await client.get("/api/version")).status_code == 200
        assert (await client.post("/v1/completions", json={"prompt": "x"})).status_code == 404
    assert stub.requests == []


async def test_models(api: httpx.AsyncClient) -> None:
    (model,) = (await api.get("/v1/models")).json()["data"]
    assert model["id"] == "qwen2.5-coder-0.5b"
    assert (await api.get(f"/v1/models/{model['id']}")).json() == model
    assert (await api.get("/v1/models/other")).status_code == 404


async def test_mistral_and_mercury_in_one_reply(api: httpx.AsyncClient, stub: StubEngine) -> None:
    body = {"model": "codestral-latest", "prompt": BEFORE, "suffix": AFTER, "random_seed": 1}
    answer = (await api.post("/v1/fim/completions", json=body)).json()
    assert gap(stub) == (BEFORE, AFTER)
    (choice,) = answer["choices"]
    assert (choice["text"], choice["message"]["content"], choice["message"]["role"]) == ("a + b", "a + b", "assistant")
    assert {"id", "object", "model", "usage", "created"} <= set(answer)
    *chunks, done = events(await api.post("/v1/fim/completions", json=body | {"stream": True}))
    for field in ("text", "delta"):
        texts = [each["choices"][0][field] for each in chunks]
        assert "".join(each if isinstance(each, str) else each["content"] for each in texts) == "a + b"
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert done == "[DONE]"


async def test_effort_in_a_gap(api: httpx.AsyncClient, stub: StubEngine) -> None:
    """The greedy fill competes with drawn ones; at high effort the model is asked about each that differs."""
    stub.answer = lambda request: f"answer {request['seed']}" if "gaps" in request else "Yes"
    body = {"prompt": BEFORE, "suffix": AFTER}
    efforts: dict[str, list[tuple[str, float]]] = {}
    for effort in ("instant", "low", "medium", "high"):
        stub.requests.clear()
        answer = await api.post("/v1/fim/completions", json=body | {"reasoning_effort": effort, "random_seed": 3})
        assert answer.json()["choices"][0]["text"].startswith("answer ")
        efforts[effort] = [(each["mode"], each["temperature"]) for each in stub.requests if "gaps" in each]
    assert efforts["instant"] == [("diffusion", 0)]
    assert efforts["low"] == [("verified", 0)]
    assert efforts["medium"] == [("verified", 0)] + 2 * [("verified", 0.6)]
    assert efforts["high"] == [("verified", 0)] + 7 * [("verified", 0.6)]
    questions = [each["messages"][0]["content"] for each in stub.requests if "messages" in each]
    assert len(questions) == len(set(questions)) == 7  # the greedy answer has the seed of one that is drawn
    assert all(f"{BEFORE}<part>answer " in question for question in questions)
    streamed = events(await api.post("/v1/fim/completions", json=body | {"reasoning_effort": "high", "stream": True}))
    assert "".join(each["choices"][0]["text"] for each in streamed[:-1]).startswith("answer ")
    assert (await api.post("/v1/fim/completions", json=body | {"reasoning_effort": "huge"})).status_code == 400


# What llama.vim sends as it types.
LLAMA_VIM = {
    "id_slot": 0,
    "input_prefix": "def add(a, b):\n",
    "input_suffix": AFTER,
    "input_extra": [{"text": "A = 1\n", "time": [1, 2], "filename": "a.py"}],
    "prompt": "    return ",
    "n_predict": 128,
    "stop": [],
    "n_indent": 4,
    "top_k": 40,
    "top_p": 0.9,
    "stream": False,
    "samplers": ["top_k", "top_p", "infill"],
    "cache_prompt": True,
    "t_max_prompt_ms": 500,
    "t_max_predict_ms": 250,
    "response_fields": ["content", "timings/prompt_n", "timings/predicted_ms", "tokens_cached", "truncated"],
    "model": "",
}


async def test_llama_vim(api: httpx.AsyncClient, stub: StubEngine) -> None:
    answer = await api.post("/infill", json=LLAMA_VIM)
    assert gap(stub) == (BEFORE, AFTER)
    assert asked(stub)["files"] == [{"path": "a.py", "text": "A = 1\n"}]
    assert re.match(r'\{.*"content" *:"', answer.text)  # llama.vim's own test of a body
    assert answer.json() == {
        "content": "a + b",
        "timings/prompt_n": 31,
        "timings/predicted_ms": 142.0,
        "tokens_cached": 0,
        "truncated": False,
    }


async def test_llama_vims_warm_up_writes_nothing(api: httpx.AsyncClient, stub: StubEngine) -> None:
    body = LLAMA_VIM | {"prompt": "", "n_predict": 0, "samplers": [], "response_fields": [""], "t_max_predict_ms": 1}
    assert (await api.post("/infill", json=body)).json() == {}
    assert asked(stub)["priority"] == "prefetch"
    assert asked(stub)["max_tokens"] == 1


async def test_least_indentation(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: "if a:\n        b\n\nc = 1\n"
    content = (await api.post("/infill", json=LLAMA_VIM)).json()["content"]
    assert content == "if a:\n        b\n"


async def test_llama_vscode_gets_a_list_for_several(api: httpx.AsyncClient) -> None:
    body = {name: value for name, value in LLAMA_VIM.items() if name != "response_fields"}
    answers = (await api.post("/infill", json=body | {"n_cmpl": 2})).json()
    assert [each["content"] for each in answers] == ["a + b", "a + b"]
    assert answers[0]["timings"]["predicted_per_second"] > 0


async def test_infill_streamed_has_no_done(api: httpx.AsyncClient) -> None:
    found = events(await api.post("/infill", json=LLAMA_VIM | {"stream": True, "response_fields": []}))
    assert "".join(each["content"] for each in found) == "a + b"
    assert [each["stop"] for each in found] == [False, False, True]


async def test_infill_needs_both_sides(api: httpx.AsyncClient) -> None:
    answer = await api.post("/infill", json={"input_prefix": "a"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, 400)


async def test_completion(api: httpx.AsyncClient, stub: StubEngine) -> None:
    for path in ("/completion", "/completions"):
        answer = (await api.post(path, json={"prompt": TEMPLATED, "n_predict": 8})).json()
        assert (answer["content"], answer["stop"]) == ("a + b", True)
        assert gap(stub) == (BEFORE, AFTER)


CHATML = "<|im_start|>user\nHello?<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize("prompt", [CHATML, [72, 105], ["Hi", 72]])
async def test_completion_of_a_prompt_as_it_stands(api: httpx.AsyncClient, stub: StubEngine, prompt: Any) -> None:
    """With control tokens or token numbers in it, which the engine is asked by their numbers."""
    stub.answer = lambda request: "Hello there!"
    body = {"prompt": prompt, "n_predict": 9, "stop": ["<|im_end|>"], "temperature": 0.1}
    answer = (await api.post("/completion", json=body)).json()
    assert (answer["content"], answer["stop_type"], answer["tokens_predicted"]) == ("Hello there!", "eos", 7)
    assert asked(stub)["prompt"] == ([ord(each) for each in prompt] if prompt == CHATML else prompt)
    assert (asked(stub)["max_tokens"], asked(stub)["stop"], asked(stub)["temperature"]) == (9, [], 0.1)
    found = events(await api.post("/completion", json=body | {"stream": True}))
    assert "".join(each["content"] for each in found) == "Hello there!"
    assert found[-1]["stop"] is True


async def test_tokens(api: httpx.AsyncClient, stub: StubEngine) -> None:
    assert (await api.post("/tokenize", json={"content": "Hi"})).json() == {"tokens": [72, 105]}
    assert asked(stub) == {"prompt": "Hi", "control": True}
    pieces = (await api.post("/tokenize", json={"content": "Hi", "with_pieces": True, "parse_special": False})).json()
    assert pieces == {"tokens": [{"id": 72, "piece": "H"}, {"id": 105, "piece": "i"}]}
    assert asked(stub)["control"] is False
    assert (await api.post("/tokenize", json={"content": ""})).json() == {"tokens": []}
    assert (await api.post("/detokenize", json={"tokens": [72, 105]})).json() == {"content": "Hi"}
    assert (await api.post("/detokenize", json={"tokens": []})).json() == {"content": ""}
    assert (await api.post("/detokenize", json={"tokens": ["a"]})).status_code == 400


async def test_a_chats_prompt(api: httpx.AsyncClient, stub: StubEngine) -> None:
    answer = await api.post("/apply-template", json={"messages": [{"role": "developer", "content": "Hi"}]})
    assert answer.json() == {"prompt": "Hi"}
    assert asked(stub)["messages"] == [{"role": "system", "content": "Hi"}]


async def test_health_for_llama_cpp_and_tabby(api: httpx.AsyncClient) -> None:
    for path in ("/health", "/v1/health"):
        told = (await api.get(path)).json()
        assert told["status"] == "ok"
        assert told["version"]["git_describe"]
    assert "prompt" not in json.dumps((await api.get("/slots")).json())
    assert (await api.get("/props")).json()["default_generation_settings"]["n_ctx"] == 32_768


async def test_ollama_generate(api: httpx.AsyncClient, stub: StubEngine) -> None:
    body = {"model": "qwen2.5-coder", "prompt": BEFORE, "suffix": AFTER, "options": {"num_predict": 7}, "keep_alive": 9}
    lines = [json.loads(line) for line in (await api.post("/api/generate", json=body)).text.splitlines()]
    assert gap(stub) == (BEFORE, AFTER)
    assert asked(stub)["max_tokens"] == 7
    assert "".join(line["response"] for line in lines) == "a + b"
    assert [line["done"] for line in lines] == [False, False, True]
    assert lines[-1]["done_reason"] == "stop"
    whole = (await api.post("/api/generate", json={"prompt": TEMPLATED, "raw": True, "stream": False})).json()
    assert (whole["response"], whole["prompt_eval_count"]) == ("a + b", 31)
    assert gap(stub) == (BEFORE, AFTER)


async def test_ollamas_small_paths(api: httpx.AsyncClient, stub: StubEngine) -> None:
    assert (await api.get("/")).text == "Ollama is running"
    assert tuple(map(int, (await api.get("/api/version")).json()["version"].split("."))) >= (0, 6, 4)
    (model,) = (await api.get("/api/tags")).json()["models"]
    assert {"name", "modified_at", "size", "digest", "details"} <= set(model)
    shown = (await api.post("/api/show", json={"name": model["name"]})).json()
    assert ".Suffix" in shown["template"]
    assert shown["capabilities"] == ["completion", "insert", "tools"]
    assert (await api.post("/api/generate", json={"model": "m"})).json()["done_reason"] == "load"
    assert stub.requests == []
    assert list((await api.get("/api/other")).json()) == ["error"]


async def test_tabby(api: httpx.AsyncClient, stub: StubEngine) -> None:
    segments = {
        "prefix": BEFORE,
        "suffix": AFTER,
        "filepath": "calc.py",
        "declarations": [{"filepath": "a.py", "body": "A = 1"}],
    }
    answer = (await api.post("/v1/completions", json={"language": "python", "segments": segments})).json()
    assert answer["choices"] == [{"index": 0, "text": "a + b"}]
    assert asked(stub)["gaps"][0]["path"] == "calc.py"
    assert asked(stub)["files"] == [{"path": "a.py", "text": "A = 1"}]
    assert (await api.post("/v1/completions", json={"segments": {}})).status_code == 400
    assert (await api.get("/v1beta/server_setting")).json() == {"disable_client_side_telemetry": True}
    assert (await api.post("/v1/events?select_kind=line", json={"type": "view"})).status_code == 200


async def test_tgi(api: httpx.AsyncClient, stub: StubEngine) -> None:
    body = {"inputs": TEMPLATED, "parameters": {"max_new_tokens": 5, "temperature": 0.9}}
    assert (await api.post("/generate", json=body)).json() == {"generated_text": "a + b"}
    assert asked(stub)["temperature"] == 0  # it samples only if `do_sample` is true
    found = events(await api.post("/generate_stream", json=body))
    assert "".join(each["token"]["text"] for each in found) == "a + b"
    assert found[-1]["generated_text"] == "a + b"
    assert (await api.post("/generate", json={"inputs": 1})).json()["error_type"] == "validation"
    detailed = body | {"parameters": {"details": True, "stop": ["###"]}}
    answer = {
        "event": "fill",
        "gap": 0,
        "text": "a + b",
        "reason": "end",
        "cost": COST,
        "confidence": [[1, -0.5], [4, -2]],
    }
    stub.raw = b"".join(json.dumps(each).encode() + b"\n" for each in (answer, {"event": "done"}))
    (found,) = (await api.post("/", json=detailed)).json()
    details = found["details"]
    assert (found["generated_text"], details["finish_reason"], details["generated_tokens"]) == ("a + b", "eos_token", 7)
    assert [(each["text"], each["logprob"]) for each in details["tokens"]] == [("a", -0.5), (" + b", -2)]
    stub.raw = None
    stub.answer = lambda request: "a ### b"
    (found,) = (await api.post("/", json=detailed)).json()
    assert (found["generated_text"], found["details"]["finish_reason"]) == ("a ", "stop_sequence")
