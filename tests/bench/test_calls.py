"""The bench of calls: its requests and its judgement."""

import json
from typing import Any

import pytest

from bench.calls import FUNCTIONS, judged, summary

ADD = next(number for number, function in enumerate(FUNCTIONS) if function.name == "add")
ASKED = {"a": 3, "b": 5}


def test_requests_ask_for_their_arguments() -> None:
    assert len({function.name for function in FUNCTIONS}) == 20
    for function in FUNCTIONS:
        for sentence, arguments in function.requests(10):
            assert list(arguments) == list(function.fields)
            assert all(str(value) in sentence for value in arguments.values())


@pytest.mark.parametrize("number", range(len(FUNCTIONS)), ids=lambda number: FUNCTIONS[number].name)
def test_the_right_answer_is_judged_right(number: int) -> None:
    for _, arguments in FUNCTIONS[number].requests(3):
        call = called(FUNCTIONS[number].name, json.dumps(arguments))
        assert all(judged("auto", number, arguments, call).values())
        assert all(judged("json", number, arguments, {"content": json.dumps(arguments)}).values())


def called(name: str, arguments: str) -> dict[str, Any]:
    return {"content": None, "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


@pytest.mark.parametrize(
    ("message", "answered", "valid", "named"),
    [
        (called("add", '{"a": 5, "b": 3}'), True, True, True),
        (called("add", '{"a": "3", "b": 5}'), True, False, False),
        (called("play_artist", '{"artist": "Ada"}'), True, False, False),  # it was not offered
        (called("set_volume", '{"percent": 3}'), True, True, False),
        (called("sub", '{"a": 3, "b": 5}'), True, False, False),
        (called("add", "3 and 5"), True, False, False),
        ({"content": "8"}, False, False, False),
    ],
)
def test_wrong_answers(message: dict[str, Any], answered: bool, valid: bool, named: bool) -> None:
    expected = {"answered": answered, "valid": valid, "named": named, "right": False}
    assert judged("auto", ADD, ASKED, message) == expected


def test_what_is_valid_is_a_share_of_what_is_answered() -> None:
    no = dict.fromkeys(("answered", "valid", "named", "right"), False)
    words, wrong = no | {"way": "auto"}, no | {"way": "auto", "answered": True}
    right = dict.fromkeys(no, True) | {"way": "auto"}
    shares = summary([words, words, wrong, right])
    assert shares == {"auto/answered": 0.5, "auto/valid": 0.5, "auto/named": 0.25, "auto/right": 0.25}
