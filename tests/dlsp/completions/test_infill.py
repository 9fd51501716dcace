import pytest

from dlsp.completions import infill
from dlsp.completions.types import SkipReason
from dlsp.context.parts import Context, Part
from dlsp.syntax import languages
from dlsp.syntax.source import Source
from tests.dlsp.stub_engine import COST


@pytest.mark.parametrize(
    ("before", "rule"),
    [("", "block"), ("a\n    ", "block"), ("a\r\n\t", "block"), ("x = ", "line"), ("a\n  b", "line")],
)
def test_end_rule(before: str, rule: str) -> None:
    assert infill.end_rule(before) == rule


CONTEXT = Context((), (Part("a.py", 0, "p", ""),), Part("a.py", 0, "s", ""))


def test_request() -> None:
    made = infill.request(
        CONTEXT,
        middle="m",
        path="a.py",
        session="x",
        end="line",
        mode="diffusion",
        schedule="merged",
    )
    gap = {"prefix": "p", "suffix": "s", "middle": "m", "path": "a.py", "session": "x"}
    assert made == {"gaps": [gap], "mode": "diffusion", "schedule": "merged", "end": "line", "max_tokens": 64}


def test_other_files_of_a_request() -> None:
    others = (Part("b.py", 9, "second\n", ""), Part("b.py", 1, "first", ""), Part("c.py", 0, "x\r\n", ""))
    made = infill.request(Context(others, CONTEXT.prefix, CONTEXT.suffix), end="line")
    assert made["files"] == [{"path": "b.py", "text": "first\nsecond\n"}, {"path": "c.py", "text": "x\n"}]


@pytest.mark.parametrize(
    ("answer", "text", "quiet"),
    [
        ("a)", "a", None),
        ("  \n", "", SkipReason.EMPTY),
        ("```\n\nThis", "", SkipReason.EMPTY),
        (")", "", SkipReason.REPEAT),
        ("b" + "9" * 60, "", SkipReason.STUTTER),
    ],
)
def test_a_suggestion_or_a_reason(answer: str, text: str, quiet: SkipReason | None) -> None:
    fill = {"event": "fill", "gap": 0, "text": answer, "reason": "line", "cost": COST}
    made = infill.result(fill, "f(", ")\n")
    assert (made.text, made.skip, made.reason) == (text, quiet, "line")


@pytest.mark.parametrize(
    ("answer", "reason", "text"),
    [
        ("a\nb\nc", "length", "a\nb"),
        ("a\nb\nc", "block", "a\nb\nc"),
        ("a", "length", "a"),
        ("\n  a", "length", "\n  a"),
    ],
)
def test_a_line_that_the_length_cut_off_is_not_offered(answer: str, reason: str, text: str) -> None:
    fill = {"event": "fill", "gap": 0, "text": answer, "reason": reason, "cost": COST}
    assert infill.result(fill, "", "\n").text == text


def test_what_would_break_the_syntax_is_not_offered() -> None:
    fill = {"event": "fill", "gap": 0, "text": "b = = 1", "reason": "line", "cost": COST}
    language = languages.of("a.py")
    assert language
    made = infill.result(fill, "def f():\n    ", "\n", Source(language))
    assert (made.text, made.skip) == ("", SkipReason.BROKEN)
