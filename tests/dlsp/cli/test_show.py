from dlsp.cli.show import cost_line, excerpt
from tests.dlsp.stub_engine import COST


def test_the_suggestion_in_place() -> None:
    before = "".join(f"line {number}\n" for number in range(1, 9)) + "x = ("
    text = excerpt(before, "a +\n     b", ")\n\nend\n", around=2)
    assert text.plain == " 7 │ line 7\n 8 │ line 8\n 9 │ x = (a +\n10 │      b)\n11 │ \n12 │ end"
    shown = [text.plain[span.start : span.end] for span in text.spans if "green" in str(span.style)]
    assert shown == ["a +", "     b"]


def test_carriage_returns_and_control_characters_do_not_reach_the_terminal() -> None:
    assert excerpt("a\r\nb = ", "'\x1b[2J'", "\r\n").plain == "1 │ a\n2 │ b = '·[2J'\n3 │ "


def test_cost() -> None:
    assert cost_line("verified, split", COST) == (
        "verified, split · 7 tokens in 4 forwards, tau 1.75 · 203 ms (queue 0, prefill 61, decode 142)"
    )
