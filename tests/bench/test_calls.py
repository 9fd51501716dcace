"""The bench of calls: its requests and its judgement."""

import json
from typing import Any

import pytest

from bench.calls import FUNCTIONS, Function, judged

ADD = next(function for function in FUNCTIONS if function.name == "add")
ASKED = {"a": 3, "b": 5}


def test_requests_ask_for_their_arguments() -> None:
    assert len({function.name for function in FUNCTIONS}) == 20
    for function in FUNCTIONS:
        for sentence, arguments in function.requests(10):
            assert list(arguments) == list(function.fields)
            assert all(str(value) in sentence for value in arguments.values())


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_the_right_answer_is_judged_right(function: Function) -> None:
    for _, arguments in function.requests(3):
        call = {"tool_calls": [{"function": {"name": function.name, "arguments": json.dumps(arguments)}}]}
        assert judged("auto", function, arguments, call) == {"valid": True, "named": True, "right": True}
        assert judged("json", function, arguments, {"content": json.dumps(arguments)})["right"]


def called(name: str, arguments: str) -> dict[str, Any]:
    return {"content": None, "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


@pytest.mark.parametrize(
    ("message", "valid", "named", "right"),
    [
        (called("add", '{"a": 5, "b": 3}'), True, True, False),
        (called("add", '{"a": "3", "b": 5}'), False, False, False),
        (called("get_weather", '{"city": "Rome"}'), True, False, False),
        (called("sub", '{"a": 3, "b": 5}'), False, False, False),
        ({"content": "8"}, False, False, False),
    ],
)
def test_wrong_answers(message: dict[str, Any], valid: bool, named: bool, right: bool) -> None:
    assert judged("auto", ADD, ASKED, message) == {"valid": valid, "named": named, "right": right}
