from pathlib import Path

import pytest

from dlsp.cli import main
from dlsp.cli.show import MARKS, cost_line, excerpt
from tests.dlsp.stub_engine import COST, StubEngine


def test_the_suggestion_in_place() -> None:
    before = "".join(f"line {number}\n" for number in range(1, 9)) + "x = ("
    text = excerpt(before, "a +\n     b", ")\n\nend\n", around=2)
    assert text.plain == " 7 │ line 7\n 8 │ line 8\n 9 │ x = (a +\n10 │      b)\n11 │ \n12 │ end"
    shown = [text.plain[span.start : span.end] for span in text.spans if "green" in str(span.style)]
    assert shown == ["a +", "     b"]


def test_carriage_returns_and_control_characters_do_not_reach_the_terminal() -> None:
    assert excerpt("a\r\nb = ", "'\x1b[2J'", "\r\n").plain == "1 │ a\n2 │ b = '·[2J'\n3 │ "


def test_a_long_line_is_cropped_around_the_suggestion() -> None:
    wide = "x" * 5_000_000
    text = excerpt(f"{wide}\n{wide}(", "a + b", f"){wide}\n{wide}\n", width=40).plain
    assert len(text) < 5 * 3 * 40
    assert "x(a + b)x" in text
    assert text.count("…") == 4


def test_marked_where_no_style_is_shown() -> None:
    assert excerpt("x = (", "a +\n     b", ")", marks=MARKS).plain == "1 │ x = («a +\n2 │      b»)"
    assert excerpt("x = (", "", ")", marks=MARKS).plain == "1 │ x = ()"


@pytest.mark.parametrize(("term", "marked"), [("dumb", True), ("xterm-256color", False)])
def test_a_terminal_with_styles_needs_no_marks(
    stub: StubEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    term: str,
    marked: bool,
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("FORCE_COLOR", "1")
    (tmp_path / "sum.py").write_text("x = (")
    assert main(["complete", f"{tmp_path}/sum.py:1:6"]) == 0
    assert ("«a + b»" in capsys.readouterr().out) is marked


def test_cost() -> None:
    assert cost_line("verified, split", COST) == (
        "verified, split · 7 tokens in 4 forwards, tau 1.75 · 203 ms (queue 0, prefill 61, decode 142)"
    )
