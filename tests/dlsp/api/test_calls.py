"""Calls in a model's answer, whole and as it grows."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsp.api.calls import Call, CallReader, split

NAMES = frozenset({"add", "now"})
ADD = '{"name": "add", "arguments": {"a": 1, "b": [2]}}'
NOW = '{"name": "now"}'
CALLED = Call("add", {"a": 1, "b": [2]})


@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        ("Just text.", "Just text.", ()),
        (f"<tool_call>\n{ADD}\n</tool_call>", "", (CALLED,)),
        (
            f"I add.\n<tool_call>\n{ADD}\n</tool_call>\n<tool_call>{NOW}</tool_call>",
            "I add.",
            (CALLED, Call("now", {})),
        ),
        (f"<tool_call>{ADD}", "", (CALLED,)),  # ended by its end token
        ('<tool_call>{"name": "add", "argu', '<tool_call>{"name": "add", "argu', ()),  # ended by `max_tokens`
        (f"<tool_call>{ADD}</tool_call> Done.", "Done.", (CALLED,)),
        ("<tool_call>no JSON</tool_call>", "<tool_call>no JSON</tool_call>", ()),
        (ADD, "", (CALLED,)),
        (f"```json\n{ADD}\n```", "", (CALLED,)),
        (f"```\n[{ADD}, {NOW}]\n```", "", (CALLED, Call("now", {}))),
        (f"<tools>\n{ADD}\n{NOW}\n</tools>", "", (CALLED, Call("now", {}))),
        (f"Look:\n```json\n{ADD}\n```", f"Look:\n```json\n{ADD}\n```", ()),  # an example, not a call
        ('{"name": "other", "arguments": {}}', '{"name": "other", "arguments": {}}', ()),
        ('{"name": "add", "arguments": "1"}', '{"name": "add", "arguments": "1"}', ()),
        ('```python\nprint("add")\n```', '```python\nprint("add")\n```', ()),
        ("", "", ()),
    ],
)
def test_split(text: str, content: str, calls: tuple[Call, ...]) -> None:
    assert split(text, NAMES) == (content, calls)
    assert split(text, ()) == (text, ())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hello ", "Hello"),
        ("Hello <tool", "Hello"),
        ("Hello <b> x", "Hello <b> x"),
        ("```", ""),
        ("```json", ""),
        ("```python\nx", "```python\nx"),
        ('{"a', ""),
    ],
)
def test_text_that_may_become_a_call_is_held_back(text: str, shown: str) -> None:
    assert CallReader(NAMES).read(text) == (shown, ())


def test_a_call_is_sent_as_soon_as_it_is_closed() -> None:
    reader = CallReader(NAMES)
    text = f"I add.\n<tool_call>{ADD}</tool_call>\n<tool_call>"
    assert reader.read(text) == ("I add.", (CALLED,))
    assert reader.read(text + '{"na') == ("", ())
    assert reader.end(text + NOW + "</tool_call>") == ("", (Call("now", {}),))


def test_more_calls_than_wanted_are_left_out() -> None:
    text = f"<tool_call>{ADD}</tool_call><tool_call>{NOW}</tool_call>"
    reader = CallReader(NAMES, most=1)
    assert reader.read(text) == ("", (CALLED,))
    assert reader.end(text) == ("", ())
    assert CallReader(NAMES, most=1).end(text) == ("", (CALLED,))


def test_arguments_are_json() -> None:
    assert json.loads(Call("add", {"é": None}).json) == {"é": None}


PARTS = (
    "<tool_call>",
    "</tool_call>",
    ADD,
    NOW,
    "```",
    "```json\n",
    "<tools>",
    "</tools>",
    "\n",
    " ",
    "{",
    "[",
    "Text",
    "<",
)


@given(st.lists(st.sampled_from(PARTS), max_size=9), st.randoms(use_true_random=False))
def test_what_is_read_in_pieces_is_what_is_split_at_the_end(parts: list[str], random: object) -> None:
    text = "".join(parts)
    reader, content, calls = CallReader(NAMES), "", tuple[Call, ...]()
    for end in range(len(text) + 1):
        new, more = reader.read(text[:end])
        content, calls = content + new, calls + more
    new, more = reader.end(text)
    assert (content + new, calls + more) == split(text, NAMES)
