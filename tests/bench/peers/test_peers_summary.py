"""Replies to numbers: which way a ratio goes, and what is said where a side is missing."""

from io import StringIO

import pytest
from rich.console import Console

from bench.peers import summary as module
from bench.peers.measure import MEASURES, Replies
from bench.peers.side import Reply
from bench.peers.summary import PEER, notes, sample, show, summary


def replies(text: str = "x", slower: float = 1.0) -> Replies:
    """Ours takes twice llama.cpp's time at everything."""
    peer = {name: Reply("x", 10, 100, 0, 50 * slower) for name in MEASURES}
    own = {name: Reply(text, 10, 100, 0, 100 * slower) for name in MEASURES}
    return {name: {PEER: peer[name], "bfloat16 verified": own[name]} for name in MEASURES}


def test_ratios_are_of_speeds_for_prefill_and_decoding_and_of_times_for_lines():
    metrics = summary([replies(), replies(), replies("y", slower=3)])
    assert metrics["llama.cpp/line/q3"] > metrics["llama.cpp/line/median"] > 0
    ratios = {name: metrics[f"bfloat16 verified/{name}/ratio_median"] for name in MEASURES}
    assert ratios == {"prefill-1000": 0.5, "prefill-300": 0.5, "decode": 0.5, "line": 2, "typed": 2, "cold-line": 2}
    assert metrics["bfloat16 verified/line/same"] == 0.6667
    assert metrics["bfloat16 verified/decode/median"] == 10, "milliseconds a token"
    assert summary([replies()])["bfloat16 verified/prefill-1000/median"] == 1000, "tokens a second"


def test_lines_are_compared_once_more_where_both_gave_the_same_text():
    slow = replies("y")
    slow["line"][PEER] = Reply("x", 1, 100, 0, 1)
    metrics = summary([replies(), slow])
    assert metrics["bfloat16 verified/line/ratio_q3"] > 10
    assert metrics["bfloat16 verified/line/same_ratio_q3"] == 2
    assert "bfloat16 verified/line/same_ratio_median" not in summary([slow])


def test_without_llama_cpp_there_are_no_ratios_and_still_a_table(monkeypatch: pytest.MonkeyPatch):
    alone = {name: {"int8": taken["bfloat16 verified"]} for name, taken in replies().items()}
    metrics = summary([alone]) | {"int8/resident_mb": 900.0}
    assert not [name for name in metrics if "ratio" in name or "same" in name]
    shown = StringIO()
    monkeypatch.setattr(module, "Console", lambda: Console(file=shown))
    show("model", metrics, 1)
    assert "100.0 (100.0 to 100.0)" in shown.getvalue()
    assert "900" in shown.getvalue()


def test_the_table_has_a_line_for_each_contender_of_each_measure(monkeypatch: pytest.MonkeyPatch):
    shown = StringIO()
    monkeypatch.setattr(module, "Console", lambda: Console(file=shown))
    show("model", summary([replies(), replies()]), 2)
    assert shown.getvalue().count("bfloat16 verified") == len(MEASURES)
    assert "2.00 (2.00 to 2.00)" in shown.getvalue()


@pytest.mark.parametrize(
    ("isa", "peer", "own", "said"),
    [
        ("native", "AVX AVX2", "AVX512", "--no-binary xllamacpp xllamacpp==1.2`"),
        ("native", "AVX2 AVX512", "AVX512", None),
        ("native", "AVX2", "AVX2", None),
        ("avx2", "AVX2", "AVX2", "Both sides have AVX2"),
        ("avx2", "AVX2 AVX512", "AVX2", "could not be restricted"),
    ],
)
def test_the_report_says_when_instruction_sets_differ(isa: str, peer: str, own: str, said: str | None):
    told = notes({PEER: {"isa": peer, "version": "1.2"}, "int8": {"isa": own}}, isa)
    assert len(told) == (said is not None)
    assert said is None or said in told[0]
    assert notes({"int8": {"isa": own}}, isa) == []


def test_a_sample_keeps_times_and_counts_of_every_reply():
    assert sample("T/1", replies())["line"] == {PEER: [50, 10, 100, 0], "bfloat16 verified": [100, 10, 100, 0]}
