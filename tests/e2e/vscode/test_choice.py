"""Parts of a suggestion that VS Code does not know, and other suggestions for the same place, in a real VS Code."""

import json
import time

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.texts import before
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.settings import ACCEPT_BLOCK, ACCEPT_PART, ACCEPT_WORD, NEXT, PREVIOUS


def test_a_part_of_a_name_then_a_word(code: Code, stub: StubEngine) -> None:
    stub.answer = lambda request: "x = parseHTTPResponse(body)".removeprefix(before(request))
    code.type("x = ")
    code.wait_for_ghost("parseHTTPResponse(body)")
    for text, rest in (("x = parse", "HTTPResponse(body)"), ("x = parseHTTP", "Response(body)")):
        code.press(ACCEPT_PART)
        code.wait_for_ghost(rest)
        assert code.text() == text
    code.press(ACCEPT_WORD)
    assert code.text() == "x = parseHTTPResponse"
    code.wait_for_ghost("(body)")
    code.press("Tab")
    assert code.text() == "x = parseHTTPResponse(body)"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_block_then_all(code: Code, stub: StubEngine, end: str) -> None:
    stub.answer = lambda request: f"a{end}b{end}{end}c" if before(request).endswith("x = ") else ""
    code.open(f"y{end}")
    code.type("x = ")
    code.wait_for_ghost("a\nb\n\nc")
    code.press(ACCEPT_BLOCK)
    code.until(lambda: code.text() == f"y{end}x = a{end}b", "the first block is accepted")
    code.wait_for_ghost("\n\nc")
    code.press(ACCEPT_BLOCK)
    code.until(lambda: code.text() == f"y{end}x = a{end}b{end}{end}c", "the second one is")


def test_what_is_typed_over_for_long_comes_back_at_a_pause(code: Code, stub: StubEngine) -> None:
    stub.answer = lambda request: "compute_totals(first, second)"
    code.configure({"dlsp.suggest": "auto"})
    try:
        code.type("x = 1\nreturn ")
        code.wait_for_ghost("compute_totals(first, second)")
        for key in "compute_to":
            code.type(key)
            time.sleep(0.15)
        code.wait_for_ghost("tals(first, second)")
        decisions = (stub.file.parent / "decisions.jsonl").read_text().splitlines()
        assert "typed" in [json.loads(line)["quiet"] for line in decisions[-4:]]
        code.press("Tab")
        assert code.text() == "x = 1\nreturn compute_totals(first, second)"
    finally:
        code.configure({})


def test_others_are_asked_for_once_and_turned_through(code: Code, stub: StubEngine) -> None:
    stub.answer = lambda request: ("a + b", "b + a", "a * b", "b + a", "a + b")[request.get("seed", 0)]
    code.type("return ")
    code.wait_for_ghost("a + b")
    for text in ("b + a", "a * b", "a + b", "b + a"):
        code.press(NEXT)
        code.wait_for_ghost(text)
    assert sum(each.get("n", 1) > 1 for each in stub.requests) == 1
    code.press(PREVIOUS)
    code.wait_for_ghost("a + b")
    code.press(PREVIOUS)
    code.wait_for_ghost("a * b")
    code.type("a")
    code.wait_for_ghost(" * b")
    code.press(ACCEPT_PART)
    code.wait_for_ghost(" b")
    code.press("Tab")
    assert code.text() == "return a * b"


def test_others_replace_brackets_that_closed_themselves(code: Code, stub: StubEngine) -> None:
    first, other = "first):", "max_count, b):"
    stub.answer = lambda request: (first, other, other, first, first)[request.get("seed", 0)]
    code.type("def add(")
    code.until(lambda: code.lines() == [f"def add({first}"], "a suggestion")
    code.press(NEXT)
    code.until(lambda: code.lines() == ["def add(max_count, b):"], "another one")
    for text in ("def add(max)", "def add(max_count)", "def add(max_count,)", "def add(max_count, b)"):
        code.press(ACCEPT_PART)
        code.wait_for_text(text)
        code.until(lambda: code.lines() == ["def add(max_count, b):"], "the rest is shown")
    code.press(ACCEPT_PART)
    code.wait_for_text("def add(max_count, b):")
    code.type(" ")
    assert code.text() == "def add(max_count, b): ", "the cursor is behind it"


def test_only_others_that_fit_what_was_typed_meanwhile(code: Code, stub: StubEngine) -> None:
    stub.answer = lambda request: ("a + b", "b + a", "a * b", "b - a", "a + b")[request.get("seed", 0)]
    code.type("return ")
    code.wait_for_ghost("a + b")
    code.press(NEXT)
    code.wait_for_ghost("b + a")
    code.type("b")
    code.wait_for_ghost(" + a")
    code.press(NEXT)
    code.wait_for_ghost(" - a")
    code.press(NEXT)
    code.wait_for_ghost(" + a")


def test_where_there_is_no_other_it_is_said(code: Code, stub: StubEngine) -> None:
    code.type("return ")
    code.wait_for_ghost("a + b")
    code.press(NEXT)
    code.until(lambda: code.notifications(), "it is said")
    assert code.notifications() == ["dlsp: the model has no other suggestion here."]
    assert code.ghost() == "a + b"
    code.clear_notifications()


def test_typing_something_else_ends_the_choice(code: Code, stub: StubEngine) -> None:
    stub.answer = lambda request: ("a + b", "b + a", "a * b", "b + a", "a + b")[request.get("seed", 0)]
    code.type("return ")
    code.wait_for_ghost("a + b")
    code.press(NEXT)
    code.wait_for_ghost("b + a")
    stub.answer = lambda request: "_other"
    code.type("x")
    code.wait_for_ghost("_other")
    code.press("Tab")
    assert code.text() == "return x_other"
