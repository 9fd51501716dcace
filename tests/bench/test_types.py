"""The gaps of bench.types, and what it says of them."""

from bench.names import NameGap
from bench.types import in_arguments, position, summary


def test_gaps_of_calls_are_in_their_arguments() -> None:
    member = NameGap("p", "p/a.py", "member", "x = json.", "loads(own)", "\n")
    call = NameGap("p", "p/a.py", "call", "x = ", "load(path, own)", "\n")
    empty = NameGap("p", "p/a.py", "call", "x = ", "load()", "\n")
    found = list(in_arguments(iter([member, call, empty])))
    assert found == [member, NameGap("p", "p/a.py", "call", "x = load(", "path, own)", "\n")]


def test_positions_are_in_utf_16_units() -> None:
    assert (position("a\nx = '😀").line, position("a\nx = '😀").character) == (1, 7)


def test_the_gain_is_paired() -> None:
    def sample(kind: str, without: bool, with_it: bool, told: str) -> dict[str, object]:
        ways = {"without": without, "with": with_it}
        judged = {way: {"right": right, "unknown": [] if right else ["x"]} for way, right in ways.items()}
        return {"package": kind, "kind": kind, "told": told, **judged}

    samples = [
        sample("member", False, True, "# x: X"),
        sample("member", True, True, "# x: X"),
        sample("call", True, False, "# f(x)"),
        sample("call", True, True, ""),
    ]
    metrics = summary(samples)
    assert metrics["told"] == 0.75
    assert (metrics["all/without/exact"], metrics["all/with/exact"], metrics["all/gain"]) == (0.75, 0.75, 0.0)
    assert metrics["told/with/unknown"] == 0.3333
    assert (metrics["member/gain"], metrics["call/gain"]) == (0.5, -0.5)
    assert metrics["all/gain/low"] <= metrics["all/gain"] <= metrics["all/gain/high"]
