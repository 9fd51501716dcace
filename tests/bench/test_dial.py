"""The bench of efforts: the programs that it runs, and its sums."""

import asyncio
from typing import Any

import httpx
import pytest

from bench.dial import EFFORTS, filled, solved, summary
from bench.quality import sandbox
from bench.quality.sets import Task

TASK = Task(
    id="one",
    entry_point="double",
    prefix="def double(x):\n",
    suffix="    return y\n",
    canonical="    y = 2 * x\n",
    test="def check(f):\n    assert f(2) == 4\n",
)
CHAT = {
    "task_id": "two",
    "prompt": "from math import floor\n\ndef half(x):\n",
    "entry_point": "half",
    "test": "def check(f):\n    assert f(5) == 2\n",
}


def answered(way: Any, task: Any, text: str) -> bool:
    """Whether the program passes for which a model writes this text."""

    def reply(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"choices": [{"message": {"content": text}}]})

    async def run() -> str:
        async with httpx.AsyncClient(transport=httpx.MockTransport(reply), base_url="http://model") as client:
            return await way(client, task, "low")

    return sandbox.run(asyncio.run(run())).passed


@pytest.mark.parametrize(("text", "passes"), [("    y = x + x", True), ("    y = x", False), ("", False)])
def test_a_gap_passes_by_its_test(text: str, passes: bool) -> None:
    assert answered(filled, TASK, text) == passes


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("Sure:\n```python\ndef half(x):\n    return floor(x / 2)\n```\nIt halves.", True),
        ("```python\ndef half(x):\n    return floor(x / 2)", True),
        ("def half(x):\n    return x // 2", True),
        ("```python\ndef half(x):\n    return x\n```", False),
        ("I cannot.", False),
    ],
)
def test_a_chat_passes_by_its_code(text: str, passes: bool) -> None:
    assert answered(solved, CHAT, text) == passes


def test_efforts_are_compared_with_low() -> None:
    def sample(**passed: bool) -> dict[str, Any]:
        times = dict(zip(EFFORTS, (50, 100, 300, 800), strict=True))
        verdicts = {effort: {"passed": passed.get(effort, False), "ms": times[effort]} for effort in EFFORTS}
        return {"kind": "gaps", "task": ""} | verdicts

    metrics = summary([sample(low=True), sample(high=True), sample(low=True, high=True), sample(high=True)])
    assert (metrics["gaps/low/pass@1"], metrics["gaps/high/pass@1"]) == (0.5, 0.75)
    assert (metrics["gaps/high/won"], metrics["gaps/high/lost"]) == (2, 1)
    assert (metrics["gaps/instant/ratio_of_sums"], metrics["gaps/high/ratio_of_sums"]) == (0.5, 8)
