"""The bench of throughput: its tasks, and what it makes of its rounds."""

import asyncio
import json

import httpx
import pytest

from bench.calls import FUNCTIONS
from bench.throughput import round_of, summary, tasks


def test_tasks_take_turns_among_all_functions() -> None:
    found = tasks(64)
    assert len(found) == 64
    assert {number for number, _, _ in found[: len(FUNCTIONS)]} == set(range(len(FUNCTIONS)))
    assert len({sentence for _, sentence, _ in found}) > len(FUNCTIONS)


def test_a_round_counts_valid_and_right_answers() -> None:
    wanted = tasks(4)
    arguments = {sentence: right for _, sentence, right in wanted}
    at_once = 0

    async def answer(request: httpx.Request) -> httpx.Response:
        nonlocal at_once
        at_once += 1
        await asyncio.sleep(0)
        sentence = json.loads(request.content)["messages"][-1]["content"]
        wrong = sentence == wanted[0][1]
        content = "{" if wrong else json.dumps(arguments[sentence])
        return httpx.Response(200, json={"choices": [{"message": {"content": content}}]})

    async def run() -> dict[str, float]:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://model") as client:
            return await round_of(client, wanted, 2)

    found = asyncio.run(run())
    assert at_once == 4
    assert (found["valid"], found["right"]) == (0.75, 0.75)
    assert found["answers_a_minute"] > 0


def test_the_ratio_is_to_the_better_setting_of_llama_cpp() -> None:
    rates = {"dlsp": (30.0, 60.0), "llama.cpp 1": (20.0, 20.0), "llama.cpp 8": (10.0, 40.0)}
    samples = [
        {"round": number, "side": name, "answers_a_minute": rate, "valid": 1.0, "right": 0.5}
        for name, found in rates.items()
        for number, rate in enumerate(found)
    ]
    metrics = summary(samples)
    assert metrics["ratio_median"] == pytest.approx(1.5)
    assert metrics["dlsp/answers_a_minute_median"] == pytest.approx(45)
    assert metrics["dlsp/right"] == 0.5
