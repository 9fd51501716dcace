"""What the bench of rewrites asks, and how it counts."""

from bench.edits.rows import Row
from bench.rewrite import diff, summarised, window
from dlsp.edits.history.hunks import Hunk

BEFORE = "a = 1\nold(a)\nb = 2\nold(b)\nc = 3\n"
ROW = Row("1", "c.py", BEFORE, (Hunk(1, 2, ("new(a)\n", "more()\n")), Hunk(3, 4, ("new(b)\n",))), {})


def test_the_window_is_the_file_after_the_first_hunk_and_its_diff_the_edit():
    asked = window(ROW, margin=0.5)
    assert asked.text == "a = 1\nnew(a)\nmore()\nb = 2\nold(b)\nc = 3\n"
    assert asked.kept == "a = 1\nnew(a)\nmore()\n"
    assert [file.text for file in asked.edits] == [diff(ROW)]
    assert diff(ROW) == " a = 1\n-old(a)\n+new(a)\n+more()\n b = 2\n old(b)\n"
    assert asked.margin == 0.5


def sample(kind: str, wanted: int, shown: int, right: int, doubt: float, **cost) -> dict:
    usual = {"reason": "window", "tokens": 40, "forwards": 2, "prefill_ms": 10.0, "decode_ms": 20.0}
    return {"kind": kind, "wanted": wanted, "shown": shown, "right": right, "doubt": doubt} | usual | cost


def test_a_gate_leaves_alone_what_is_doubted_little():
    metrics = summarised(
        [
            sample("edits", 2, 2, 1, 5.0),
            sample("edits", 2, 1, 0, 0.7),
            sample("negatives", 0, 1, 0, 0.7, forwards=3),
            sample("negatives", 0, 0, 0, -2.0, forwards=1),
            sample("negatives", 0, 0, 0, 3.0, reason="length"),
        ]
    )
    assert (metrics["edits/gate 0/exact"], metrics["edits/gate 0/precision"]) == (0.25, 0.3333)
    assert (metrics["edits/gate 1/exact"], metrics["edits/gate 1/precision"]) == (0.25, 0.5)
    assert (metrics["edits/gate 6/exact"], metrics["edits/gate 6/quiet"]) == (0, 1)
    assert (metrics["negatives/gate 0/quiet"], metrics["negatives/gate 1/quiet"]) == (0.6667, 1)
    assert (metrics["changed/windows"], metrics["changed/tau"]) == (3, 17.1429)
    assert (metrics["stayed/windows"], metrics["stayed/forwards_median"], metrics["too_long"]) == (1, 1, 1)
