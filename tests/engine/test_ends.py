import random
import re
import time
from typing import Any

import pytest

from dlsp_engine.decode.answer import Answer
from dlsp_engine.decode.ends import BLANK_TOKENS, Ending
from dlsp_engine.decode.lexer import Lexer
from dlsp_engine.engine import Engine
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap


def fed(written: bytes, size: int, rule: str = "token", stops: tuple[str, ...] = (), before: str = "", path="a.py"):
    """An ending that has followed `written` in tokens of `size` bytes, as far as it went."""
    ending = Ending(rule, stops, before, "", path)
    for at in range(0, len(written), size):
        if not ending.reason:
            ending.feed(written[at : at + size])
    return ending


def cut(end: str, before: str, text: str, path: str = "a.py") -> str | None:
    """Where it cuts, however the text comes in tokens."""
    found = [fed(text.encode(), size, end, (), before, path).cut for size in (1, 2, 3, 100)]
    assert len(set(found)) == 1
    return None if found[0] is None else text[: found[0]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1", None),
        ("x = 1\ny", "x = 1"),
        ("\n    x = 1\ny", "\n    x = 1"),
        ("\n\n  ", None),
        ("x = 1\r\ny", "x = 1"),
    ],
)
def test_line(text: str, expected: str | None):
    assert cut("line", "", text) == expected


@pytest.mark.parametrize(
    ("before", "text", "expected"),
    [
        # An empty line inside a function: what comes first sets the level.
        ("def f():\n", "    a()\n    b()\nc()", "    a()\n    b()"),
        ("def f():\n    ", "a()\n\n    b()\nc()", "a()\n\n    b()"),
        ("def f():\n    ", "a()\n    b()\n", None),
        # After a block's head the rest of the line, then deeper lines; back on the head's own level goes on.
        ("    if x:", " pass\n    y\nz", " pass\n    y"),
        # Brackets and strings may dip below.
        ("def f():\n    ", "a(\n1,\n)\n    b\nc", "a(\n1,\n)\n    b"),
        ("def f():\n    ", 'a = """\nlow\n"""\n    b\nc', 'a = """\nlow\n"""\n    b'),
        ("def f():\n    ", "a = ')'  # (\n    b\nc", "a = ')'  # (\n    b"),
        # A line whose first character is not there yet says nothing.
        ("def f():\n    ", "a()\n  ", None),
        ("def f():\n\t", "a()\n\tb()\nc", "a()\n\tb()"),
    ],
)
def test_block(before: str, text: str, expected: str | None):
    assert cut("block", before, text) == expected


def test_comments_follow_the_language():
    text = "a(1 // 2)\n    b\nc"
    assert cut("block", "def f():\n    ", text) == "a(1 // 2)\n    b"
    assert cut("block", "func f() {\n    ", "a() // (\n    b\n}", "a.go") == "a() // (\n    b"


@pytest.mark.parametrize(
    ("before", "text", "expected"),
    [
        (
            "def f(x):\n",
            "    if x:\n        return 1\n    return 2\n\ndef g",
            "    if x:\n        return 1\n    return 2",
        ),
        ("class A:\n    def f(x):\n        ", "return 1\n\n    def g", "return 1"),
        ("def f(\n    x,\n) -> int:\n", "    return x\nprint", "    return x"),
        ("async def f():\n", "    await g()\n", None),
        ("x = 1\n", "y = 2\nz = 3", None),
    ],
)
def test_body(before: str, text: str, expected: str | None):
    assert cut("body", before, text) == expected


@pytest.mark.parametrize("size", [1, 2, 4])
def test_stop_is_the_first_of_all(size: int):
    assert fed(b"xxabab", size, stops=("b", "ab")).cut == 2
    assert fed(b"xxab", size).cut is None


def test_text_that_stands_already_does_not_count():
    ending = Ending("line", (), "", forced_bytes=3)
    assert ending.feed(b"a\nbc") == "c"
    assert ending.reason is None
    ending.feed(b"\n")
    assert (ending.reason, ending.cut) == ("line", 1)


@pytest.mark.parametrize(
    ("written", "size", "over"),
    [(b"    \n" * 4, 1, True), (b" " * 100, 50, False), (b"\n" * 15, 1, False), (b" " * 14 + b"x   ", 1, False)],
)
def test_white_space_alone_ends_after_a_while(written: bytes, size: int, over: bool):
    ending = fed(written, size)
    assert (ending.reason == "blank") is over
    assert not over or ending._tokens == BLANK_TOKENS


_TOKEN = re.compile(
    r"""
    (?P<string> \"{3}[\s\S]*?(?:\"{3}|\Z) | '{3}[\s\S]*?(?:'{3}|\Z) | `[^`]*(?:`|\Z)
              | "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'? )
  | (?P<comment> \# [^\n]* )
  | (?P<open> [(\[{] )
  | (?P<close> [)\]}] )
""",
    re.VERBOSE,
)


def is_open_ground(text: str) -> bool:
    """Whether the end of `text` lies outside of brackets and strings, by the whole of it."""
    depth = 0
    for match in _TOKEN.finditer(text):
        if match["open"]:
            depth += 1
        elif match["close"]:
            depth = max(0, depth - 1)
        elif (string := match["string"]) and match.end() == len(text):
            quote = next((q for q in ('"""', "'''", "`") if string.startswith(q)), None)
            if quote and (len(string) < 2 * len(quote) or not string.endswith(quote)):
                return False
    return depth == 0


def test_the_lexer_says_at_each_line_what_the_whole_text_does():
    rng = random.Random(0)
    pieces = ['"', '""', '"""', "'", "'''", "`", "\\", "\n", "\n", "\n  ", "(", ")", "[", "]", "#", "a", " "]
    closed = 0
    for _ in range(4000):
        text, lexer = "".join(rng.choices(pieces, k=rng.randrange(30))), Lexer("a.py")
        for at, char in enumerate(text):
            if char == "\n":
                outside = not lexer.open and not lexer.in_long_string
                assert outside is is_open_ground(text[:at]), repr(text[:at])
                closed += not outside
            lexer.feed(char)
    assert closed > 3000


@pytest.mark.parametrize("path", ["a.py", "a.rs", "a.js"])
def test_words_at_once_leave_what_their_characters_leave(path: str):
    """All of the state, of the lexer's too, behind any beginning."""
    rng = random.Random(1)

    def state(ending: Ending) -> dict[str, Any]:
        own = {name: value for name, value in vars(ending).items() if name not in ("_tokens", "_behind")}
        return own | {"_lexer": vars(ending._lexer)}

    for rule in ("token", "line", "block", "body"):
        for _ in range(60):
            at_once, singly = (Ending(rule, (), "def f(a):\n    ", ")\n", path) for _ in range(2))
            for ending in (at_once, singly):
                ending.feed(b"x")  # white space alone ends by its number of tokens
            while not at_once.reason and at_once._characters < 150:
                token = "".join(rng.choices(["ab", "a", "é", "_1", "   ", "\n", *" \t'\"`\\#/()[]{}:\r"], k=5))
                at_once.feed(token.encode())
                for char in token:
                    if not singly.reason:
                        singly.feed(char.encode())
                assert (at_once.reason, at_once.cut) == (singly.reason, singly.cut)
                assert at_once.reason or state(at_once) == state(singly), token


def behind(end: str, text: str, before: str, after: str, path: str = "a.py") -> Ending:
    """An ending that has followed `text` in a gap between `before` and `after`; it ends alike however the text comes in
    tokens.
    """
    found = []
    for size in (1, 3, 100):
        ending = Ending(end, (), before, after, path)
        for at in range(0, len(text), size):
            if not ending.reason:
                ending.feed(text[at : at + size].encode())
        found.append(ending)
    assert len({(one.reason, one.cut) for one in found}) == 1
    return found[0]


@pytest.mark.parametrize(
    ("end", "before", "text", "after", "expected"),
    [
        # A bracket that stands behind the cursor is not closed again; those that are open besides are.
        ("line", "if (", "x > 0) {", ") {\n  y();\n}\n", "x > 0"),
        ("line", "if (", "f(x)) {", ") {\n  y();\n}\n", "f(x)"),
        ("line", "f(g(", "x))", ")\n", "x)"),
        ("line", "f(g(h(", "x)))", "))\n", "x)"),
        ("line", "f(", "a[0], b)", ", c)\n", None),
        ("line", "f(", "')')", ")\n", "')'"),
        ("token", "f(\n    g(a,\n    ", "b))", ")\n", "b)"),
        ("token", "f(", "\n    a,\n)", "\n)\n", "\n    a,"),
        ("token", "x = f(", "a)\n", "\ny = 1\n", None),
        # Nor is the rest of the line, or the next line, written again.
        ("token", "total = ", "a + b  # cents\n", "  # cents\n", "a + b  "),
        ("token", "x = ", "1;\ny = 2;\n", ";\n", None),
        ("block", "def f(x):\n", "    y = x + 1\n    return y\n", "\n    return y\n", "    y = x + 1"),
        ("block", "def f(x):\n", "    if x:\n        return y\n", "\n    return y\n", None),
        ("token", "class A:\n", "    @property\n    def a(self):\n", "\n    @property\n    def b(self):\n", None),
    ],
)
def test_what_stands_behind_the_cursor_ends_a_gap(end: str, before: str, text: str, after: str, expected: str | None):
    found = behind(end, text, before, after, "a.py" if "def" in before else "a.js")
    assert (found.reason == "suffix") is (expected is not None)
    assert expected is None or text[: found.cut] == expected


@pytest.mark.parametrize(
    ("path", "before", "text", "after", "may_end"),
    [
        # A bracket of the text's own has to be closed, by the text or behind it.
        ("a.rs", "for i in 0..n {\n", "    if a[i] {\n        return true;", "\n}\n", False),
        ("a.rs", "for i in 0..n {\n", "    if a[i] {\n        return true;\n    }", "\n}\n", True),
        ("a.rs", "for i in 0..n {\n", "    if a[i] {", "\n        return true;\n    }\n}\n", True),
        ("a.rs", "for i in 0..n {\n", "    if a[i] {\n        return true;", "\n    }\n}\n", True),
        ("a.py", "x = ", "f(1, ", "", False),
        ("a.py", "x = ", "f(1, ", "2)\n", True),
        ("a.py", "x = g(", "f(1", ")\ny = 1\n", False),
        ("a.py", "x = g(", "f(1", "))\ny = 1\n", True),
        ("a.py", "x = [\n    ", "f(1", "),\n]\n", True),
        ("a.go", "", "switch x {", "\ncase 1:\n\treturn\n}\nvar y int\n", True),
        ("a.py", "print('", "(", "')\n", True),
        # So does a block of Python.
        ("a.py", "def f(x):\n", "    if x:", "\n    return 1\n", False),
        ("a.py", "def f(x):\n", "    if x:", "\n        return 1\n", True),
        ("a.py", "def f(x):\n    if ", "x", ":\n    return 1\n", True),
        ("a.py", "def f(x):\n", "    y = x[1:", "]\n    return 1\n", True),
        ("a.yaml", "", "key:", "\nother: 1\n", True),
        # What the window cuts off may well close it.
        ("a.js", "", "test('a', () => {", "\n  f();\n", True),
    ],
)
def test_a_gap_may_not_end_where_that_breaks_the_tree(path: str, before: str, text: str, after: str, may_end: bool):
    assert behind("block", text, before, after, path).may_end is may_end


def test_a_line_is_ended_by_its_line_break_in_any_case():
    assert behind("line", "if x:", "", "\nreturn\n").may_end
    assert not behind("line", "f(x", "if (", ") {\n}\ny = 1\n", "a.js").may_end


def test_what_a_token_costs_does_not_grow_with_the_text(tiny: Engine):
    """A string of 400 lines that are not indented: each looked like the end of the gap, and was looked at anew."""
    gap = Gap("def query(db):\n    sql = ", "\n", path="a.py")

    def after(lines: int) -> Answer:
        answer = Answer(gap, Options(end="body", max_tokens=1024), tiny.tokenizer)
        answer._ending.feed(('"""\n' + "SELECT a1, b1 FROM t1 WHERE x = 1\n" * lines).encode())
        return answer

    def seconds(answer: Answer) -> float:
        took = []
        for _ in range(5):
            began = time.thread_time()
            for _ in range(10):
                answer.until_end(list(b"SELECT a1, b1 F"))
                answer.until_end(list(b"SELECT a1, b1 F"), [[10, 34]] * 15)
            took.append(time.thread_time() - began)
        return min(took)

    assert seconds(after(400)) < 3 * seconds(after(2))


@pytest.mark.parametrize("mode", ["autoregressive", "diffusion", "verified"])
def test_white_space_alone_ends_alike_in_every_mode(tiny: Engine, monkeypatch: pytest.MonkeyPatch, mode: str):
    """A model that writes blanks without end is asked for no more of them."""
    monkeypatch.setattr(Answer, "next_tokens", lambda answer, logits, draft: [ord(" ")] * len(logits))
    fill = tiny.fill(Gap("x = 1\n", "y = 2\n"), Options(mode=mode, end="block", max_tokens=128))
    assert (fill.tokens, fill.text, fill.reason) == ((ord(" "),) * 16, "", "blank")


@pytest.mark.parametrize("seed", range(20))
def test_stop_texts_are_found_as_a_search_of_the_whole_text_finds_them(seed: int):
    """Of few letters, so that they overlap with themselves and each other, however the text comes in pieces."""
    rng = random.Random(seed)
    stops = tuple("".join(rng.choices("ab\u00e9", k=rng.randrange(2, 7))) for _ in range(3))
    ending, text = Ending("text", stops, ""), ""
    for _ in range(200):
        word = "".join(rng.choices("ab\u00e9", k=rng.randrange(1, 4)))
        settled = ending.settled
        text += word
        ending.feed(word.encode())
        places = [at for stop in stops if (at := text.find(stop)) >= 0]
        if ending.reason:
            assert (ending.reason, ending.cut) == ("stop", min(places))
            assert settled <= min(places), "what is settled is never taken back"
            return
        assert not places
        held = max(n for stop in stops for n in range(len(stop)) if text.endswith(stop[:n]))
        assert ending.settled == len(text) - held
    raise AssertionError("three short texts of three letters come soon")


def test_a_long_stop_text_costs_no_more_than_a_short_one():
    def seconds(length: int) -> float:
        took = []
        for _ in range(5):
            ending = Ending("text", ("a" * length,), "")
            began = time.thread_time()
            for _ in range(2000):
                ending.feed(b"aaaaaaaab")
            took.append(time.thread_time() - began)
            assert not ending.reason
        return min(took)

    seconds(4000)
    assert seconds(4000) < 3 * seconds(20)
