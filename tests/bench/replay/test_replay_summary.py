"""From keystrokes to numbers."""

import pytest

from bench.replay.contender import Work
from bench.replay.scripts import Move, Script, Write
from bench.replay.summary import Played, counts, first_right, quantile, summary
from bench.replay.user import Keystroke

SCRIPT = Script("x", "writing", "x", "", "x.py", "", (Move(0), Write("ab\n    cd")))


def keystroke(text: str | None = None, took: float | None = 0.1, **more) -> Keystroke:
    defaults = {"next": "type", "after": "type", "wait_s": 0.2, "quiet": ""}
    return Keystroke(**(defaults | {"took_s": took, "text": text} | more))


def played(*keystrokes: Keystroke, script: Script = SCRIPT, forwards: int = 10) -> Played:
    return Played(script, keystrokes, Work(forwards, 100, 5), 0.1)


def test_counts_by_key_and_by_suggestion():
    sums = counts(
        played(
            keystroke("xyz"),
            keystroke("yz", again=True, memory=True),
            keystroke("b\n    c", right=True, whole=True, accepted=7),
            keystroke(None, took=None),
        )
    )
    assert (sums["shown"], sums["wrong"], sums["wrong_keys"], sums["right"], sums["visible_keys"]) == (2, 1, 2, 1, 3)
    assert sums["accepted"] == len("b\nc"), "an editor sets the indentation"
    assert sums["characters"] == len("ab\ncd")
    assert (sums["memory_keys"], sums["late"], sums["keys"]) == (1, 1, 4)


def test_a_suggestion_of_which_words_are_taken_is_used_and_in_the_way_when_none_is():
    sums = counts(
        played(
            keystroke("ab(c)", accepted=2),
            keystroke("(c)", again=True, after="accept"),
            keystroke("c)", again=True, after="accept"),
            keystroke("d"),
        )
    )
    assert (sums["shown"], sums["used"], sums["right"], sums["saved"]) == (2, 1, 0, 1)
    assert (sums["wrong_keys"], sums["in_the_way_keys"]) == (4, 3)


def test_quiet_is_right_before_a_deletion_a_move_and_a_newline_unless_that_is_foretold():
    sums = counts(
        played(
            keystroke("x", next="delete"),
            keystroke(None, next="delete"),
            keystroke("x", next="move"),
            keystroke("\n    y", next="newline", right=True),
            keystroke("z", next="newline"),
        )
    )
    assert (sums["quiet"], sums["quiet_places"]) == (2, 5)
    assert (sums["quiet_delete"], sums["quiet_move"], sums["quiet_newline"]) == (1, 0, 1)
    assert sums["quiet_strict"] == 1


def test_quantiles_heed_what_was_cut_short():
    assert quantile([(1, True), (2, True), (3, True)], 0.5) == 2
    assert quantile([(1, False), (2, True), (3, True)] * 10, 0.5) == 2
    assert quantile([(1, True), (2, False), (2, False), (3, True)] * 20, 0.5) == 3, "those cut short lasted longer"
    assert quantile([(1, True), (2, False)] * 10, 0.95) is None


def test_a_quantile_is_not_what_the_last_key_happened_to_take():
    answered, cut_short = [(n, True) for n in range(80)], [(n, False) for n in range(60, 75)]
    assert quantile([*answered, *cut_short], 0.8) == 72
    assert quantile([*answered, *cut_short], 0.95) is None


def test_times_by_what_was_asked():
    metrics = summary(
        {"dlsp": [played(keystroke("a", 0.3, after="start"), keystroke("b", 0.1), keystroke("c", 0.002, memory=True))]},
        "other",
    )
    assert metrics["dlsp/cold_p50_ms"] == 300
    assert metrics["dlsp/warm_p50_ms"] == metrics["dlsp/shown_p50_ms"] == 100
    assert metrics["dlsp/memory_p50_ms"] == 2


def test_a_place_is_cold_until_the_engine_has_answered_there():
    early = keystroke(None, None, wait_s=0.1)
    metrics = summary(
        {
            "dlsp": [
                played(
                    keystroke(None, None, after="start", wait_s=0.2), early, keystroke("b", 0.4), keystroke("c", 0.1)
                )
            ]
        },
        "",
    )
    assert metrics["dlsp/cold_number"] == 3
    assert metrics["dlsp/warm_number"] == 1


def test_an_answer_that_is_not_shown_took_its_time_and_a_silence_without_one_none():
    metrics = summary(
        {"dlsp": [played(*[keystroke(None, 0.3)] * 20, keystroke(None, 0.005), keystroke(None, None, wait_s=0.1))]}, ""
    )
    assert metrics["dlsp/warm_number"] == 20
    assert metrics["dlsp/warm_p50_ms"] == 300
    assert "dlsp/shown_number" not in metrics


def test_ratios_to_the_baseline_are_of_the_scripts_both_played():
    other = Script("y", "writing", "y", "", "y.py", "", SCRIPT.steps)
    right = keystroke("ab", right=True, whole=True, accepted=2)
    mine = [played(right, keystroke("x")), played(keystroke("x"), script=other)]
    theirs = [played(keystroke("a", 0.4, right=True, whole=True, accepted=1), keystroke("x", 0.4))]
    metrics = summary({"dlsp": mine, "peer": theirs}, "peer")
    assert metrics["dlsp/completed_ratio"] == 2
    assert metrics["dlsp/wrong_per_100_ratio"] == 1
    assert metrics["dlsp/warm_p50_ratio"] == pytest.approx(0.25)
    assert metrics["dlsp/all/scripts"] == 2
    assert "peer/completed_ratio" not in metrics


def test_shares_have_intervals_over_files():
    scripts = [Script(f"{n}", "writing", f"{n}", "", "x.py", "", SCRIPT.steps) for n in range(20)]
    of = [played(keystroke("a", right=n % 2 == 0, accepted=n % 2 == 0), script=one) for n, one in enumerate(scripts)]
    metrics = summary({"dlsp": of}, "")
    assert metrics["dlsp/all/right_first"] == 0.5
    assert 0.2 < metrics["dlsp/all/right_first_low"] < 0.5 < metrics["dlsp/all/right_first_high"] < 0.8
    assert metrics["dlsp/all/forwards_per_100"] == 1000


def test_what_is_written_is_counted_by_language():
    go = Script("g", "writing", "g", "", "x.go", "", SCRIPT.steps)
    edit = Script("e", "editing", "e", "", "x.go", "", SCRIPT.steps)
    right, wrong = keystroke("ab", right=True, whole=True, accepted=2), keystroke("x")
    metrics = summary({"dlsp": [played(right), played(wrong, script=go), played(right, script=edit)]}, "")
    assert (metrics["dlsp/python/right_first"], metrics["dlsp/go/right_first"]) == (1, 0)
    assert (metrics["dlsp/python/scripts"], metrics["dlsp/go/scripts"], metrics["dlsp/writing/scripts"]) == (1, 1, 2)


def test_what_was_accepted_saves_keys_and_stays_or_not():
    taken = {"right": True, "whole": True, "accepted": 10, "kept_s": 10, "kept_keys": 5}
    metrics = summary({"dlsp": [played(keystroke("a" * 10, **taken), *[keystroke(None, 0.1)] * 9)]}, "")
    assert metrics["dlsp/all/saved_per_minute"] == pytest.approx(9 / 2 * 60), "the key that accepts is pressed"
    assert (metrics["dlsp/all/kept_30_s"], metrics["dlsp/all/kept_50_keys"]) == (1, 0.5)
    old = summary({"dlsp": [played(keystroke("a", right=True, accepted=1))]}, "")
    assert "dlsp/all/kept_30_s" not in old, "it was not noted then"


def test_reversals_are_of_what_is_shown():
    metrics = summary({"dlsp": [played(keystroke("a", reverses=True), keystroke("b"), keystroke("c"))]}, "")
    assert metrics["dlsp/all/reversals_per_100_shown"] == pytest.approx(100 / 3, abs=0.01)


def test_the_time_to_the_first_right_suggestion_begins_where_something_is_to_be_written():
    place = [
        keystroke(None, after="start", left=5, wait_s=1.0),
        keystroke("x", left=5, wait_s=1.0),
        keystroke("a", 0.5, right=True, left=4),
        keystroke("b", 0.1, right=True, left=3),
    ]
    assert first_right([played(*place)]) == {"first_right_p50_s": 2.5}
    deleted = [keystroke(None, after="start", wait_s=9.0), keystroke("a", 0.2, after="delete", right=True, left=2)]
    assert first_right([played(*deleted)]) == {"first_right_p50_s": 0.2}
    never = [keystroke(None, after="start", left=5, wait_s=1.0)]
    assert first_right([played(*never)]) == {}
