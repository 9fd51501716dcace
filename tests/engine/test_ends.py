import pytest

from dlsp_engine.decode import ends
from dlsp_engine.decode.answer import Answer
from dlsp_engine.engine import Engine
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap


def cut(end: str, before: str, text: str, path: str = "a.py") -> str | None:
    at = ends.rule(end, before, path)(text)
    return None if at is None else text[:at]


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


def test_stop_is_the_first_of_all():
    assert ends.stop_rule(("b", "ab"))("xxab") == 2
    assert ends.stop_rule(())("xxab") is None


@pytest.mark.parametrize(
    ("written", "tokens", "over"),
    [(b"    \n" * 4, 16, True), (b" " * 100, 2, False), (b"\n" * 15, 15, False), (b" " * 20 + b"x", 21, False)],
)
def test_white_space_alone_ends_after_a_while(written: bytes, tokens: int, over: bool):
    assert ends.blank(written, tokens) is over


@pytest.mark.parametrize("mode", ["autoregressive", "diffusion", "verified"])
def test_white_space_alone_ends_alike_in_every_mode(tiny: Engine, monkeypatch: pytest.MonkeyPatch, mode: str):
    """A model that writes blanks without end is asked for no more of them."""
    monkeypatch.setattr(Answer, "choose", lambda answer, logits, draft: [ord(" ")] * len(logits))
    fill = tiny.fill(Gap("x = 1\n", "y = 2\n"), Options(mode=mode, end="block", max_tokens=128))
    assert (fill.tokens, fill.text, fill.reason) == ((ord(" "),) * 16, "", "blank")
