import pytest

from dlsp import suggest
from dlsp.context.window import Window
from dlsp.quiet import Quiet
from tests.dlsp.stub_engine import COST


@pytest.mark.parametrize(
    ("before", "rule"),
    [("", "block"), ("a\n    ", "block"), ("a\r\n\t", "block"), ("x = ", "line"), ("a\n  b", "line")],
)
def test_end_rule(before: str, rule: str) -> None:
    assert suggest.end_rule(before) == rule


def test_request() -> None:
    made = suggest.request(
        Window("p", "s"),
        middle="m",
        path="a.py",
        session="x",
        end="line",
        mode="diffusion",
        schedule="merged",
    )
    gap = {"prefix": "p", "suffix": "s", "middle": "m", "path": "a.py", "session": "x"}
    assert made == {"gaps": [gap], "mode": "diffusion", "schedule": "merged", "end": "line", "max_tokens": 64}


@pytest.mark.parametrize(
    ("answer", "text", "quiet"),
    [("a)", "a", None), ("  \n", "", Quiet.EMPTY), (")", "", Quiet.REPEAT)],
)
def test_a_suggestion_or_a_reason(answer: str, text: str, quiet: Quiet | None) -> None:
    fill = {"event": "fill", "gap": 0, "text": answer, "reason": "line", "cost": COST}
    made = suggest.suggestion(fill, "f(", ")\n")
    assert (made.text, made.quiet, made.reason) == (text, quiet, "line")
