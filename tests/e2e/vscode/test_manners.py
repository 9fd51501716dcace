"""How the extension behaves among VS Code's habits: real VS Code and the real server, a stub for an engine."""

import time

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.texts import asked, before, rest_of
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.settings import ACCEPT_LINE, ACCEPT_WORD, CURSOR_ABOVE, MENU, SNIPPET


def quiet(code: Code) -> bool:
    """Whether no suggestion comes, though one has had the time to."""
    time.sleep(0.8)
    return code.ghost() == ""


def test_ghost_text_and_tab(code: Code) -> None:
    code.type("return ")
    assert code.wait_for_ghost() == "a + b"
    assert code.lines() == ["return a + b"]
    code.screenshot("ghost")
    assert code.text() == "return "
    code.press("Tab")
    assert code.text() == "return a + b"


def test_tab_is_tab_without_a_suggestion(code: Code, stub: StubEngine) -> None:
    stub.answer = lambda request: ""
    code.type("x")
    assert quiet(code)
    code.press("Tab")
    code.type("y")
    assert code.text() == "x   y"


def test_words_and_lines(code: Code, stub: StubEngine) -> None:
    whole = "def f():\n    total = sum(each)\n    naïve(total)\n    return total"
    stub.answer = lambda request: whole.removeprefix(before(request))
    code.type("def f():\n    ")
    code.wait_for_ghost(whole.removeprefix("def f():\n    "))
    code.screenshot("lines")
    code.press(ACCEPT_WORD)
    assert code.text() == "def f():\n    total"
    code.press(ACCEPT_WORD)
    assert code.text() in ("def f():\n    total ", "def f():\n    total =")
    code.press(ACCEPT_LINE)
    code.wait_for_ghost("    naïve(total)\n    return total")
    assert code.text() == "def f():\n    total = sum(each)\n"
    code.press("Tab")  # indents: VS Code's rule where a suggestion begins with a whole indentation
    code.wait_for_ghost("naïve(total)\n    return total")
    code.press("Tab")
    assert code.text() == whole


def test_the_rest_of_the_line_stays_behind_it(code: Code, stub: StubEngine) -> None:
    stub.answer = lambda request: "a, b"
    code.insert("f()")
    code.press("ArrowLeft", "Space")
    assert code.wait_for_ghost() == "a, b"
    code.press("Tab")
    assert code.text() == "f( a, b)"


def test_dismiss(code: Code, stub: StubEngine) -> None:
    code.type("return ")
    code.wait_for_ghost()
    code.press("Escape")
    assert quiet(code)
    assert code.text() == "return "
    code.press("Tab")
    assert code.text() != "return a + b"


def test_typing_along_shrinks_it(code: Code, stub: StubEngine) -> None:
    stub.answer = rest_of("return a + b")
    code.type("return ")
    code.wait_for_ghost()
    code.type("a")
    code.wait_for_ghost(" + b")
    code.type(" +")
    code.wait_for_ghost(" b")
    assert code.lines() == ["return a + b"]
    code.press("Tab")
    assert code.text() == "return a + b"


def test_typing_something_else_asks_anew(code: Code, stub: StubEngine) -> None:
    code.type("return ")
    code.wait_for_ghost()
    stub.answer = lambda request: "_other"
    code.type("x")
    code.wait_for_ghost("_other")
    assert code.lines() == ["return x_other"]


def test_an_accept_is_one_undo_step(code: Code, stub: StubEngine) -> None:
    stub.answer = lambda request: "a + b\n\n\nprint(1)" if before(request).endswith("return ") else ""
    code.type("return ")
    code.wait_for_ghost()
    code.press("Tab")
    assert code.text() == "return a + b\n\n\nprint(1)"
    code.press("Control+Z")
    assert code.text() == "return "
    code.press("Control+Y")
    assert code.text() == "return a + b\n\n\nprint(1)"


def test_brackets_that_close_themselves(code: Code, stub: StubEngine) -> None:
    stub.answer = rest_of("return f(a[0]) + 1")
    code.type("return ")
    code.wait_for_ghost()
    code.type("f(a[")
    assert code.text() == "return f(a[])"
    # The second where VS Code has asked anew inside the brackets.
    forms = (["return f(a[0]) + 1"], ["return f(a[0])"])
    code.until(lambda: code.lines() in forms, "the rest is shown")
    code.press("Tab")
    assert [code.text()] in forms


def test_brackets_that_closed_themselves_are_replaced(code: Code, stub: StubEngine) -> None:
    stub.answer = rest_of("def add(first, second):")
    code.type("def add(")
    code.wait_for_ghost()
    assert code.lines() == ["def add(first, second):"]
    assert code.text() == "def add()"
    code.type("first")
    code.until(lambda: code.lines() == ["def add(first, second):"], "the rest is shown")
    code.press(ACCEPT_WORD)
    code.until(lambda: code.lines() == ["def add(first, second):"], "the rest is shown")
    assert code.text() in ("def add(first,)", "def add(first, )")
    code.press("Tab")
    assert code.text() == "def add(first, second):"
    code.type(" ")
    assert code.text() == "def add(first, second): ", "the cursor is behind it"


def test_composed_text_comes_at_once(code: Code, stub: StubEngine) -> None:
    stub.answer = rest_of("名 = 文字列 = '🙂é'")
    code.insert("名 = ")
    code.wait_for_ghost()
    code.insert("文字")
    code.wait_for_ghost("列 = '🙂é'")
    code.press("Tab")
    assert code.text() == "名 = 文字列 = '🙂é'"


def test_vs_codes_own_menu_goes_first(code: Code, stub: StubEngine) -> None:
    code.insert("apple\napricot\nap")
    code.wait_for_ghost()
    code.press("Escape")
    code.press(MENU)
    code.until(lambda: "apricot" in code.menu(), "the menu is open")
    assert quiet(code)
    code.press("Enter")
    assert code.text().split("\n")[2] in ("apple", "apricot")


def test_several_cursors(code: Code, stub: StubEngine) -> None:
    code.insert("1\n2")
    code.press(CURSOR_ABOVE)
    number = len(asked(stub))
    code.type("x")
    assert quiet(code)
    assert len(asked(stub)) == number
    assert code.text() == "1x\n2x"
    code.press("Escape")


def test_snippets_keep_tab(code: Code) -> None:
    code.press(SNIPPET)
    code.until(lambda: code.lines() == ["f(a, b)"], "the snippet is there")
    code.type("x")
    code.press("Tab")
    code.type("y")
    assert code.text() == "f(x, y)"
    code.press("Escape")


def test_a_file_with_dos_line_ends(code: Code, stub: StubEngine) -> None:
    stub.answer = lambda request: "a\n    b"
    code.open("x\r\ny\r\n")
    code.type(" ")
    code.wait_for_ghost()
    code.press("Tab")
    assert code.text() == "x\r\ny\r\n a\r\n    b"
