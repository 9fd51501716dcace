"""What editors tell of suggestions is counted, and learned from."""

import itertools

import pytest

from dlsp.completions.observers import AcceptanceLearner, SkipCounters
from dlsp.completions.types import Completed, CompletionResult, Position, SkipReason, Verdict
from tests.dlsp.completions.cursors import URI, cursor

NUMBERS = itertools.count()
HERE = Position(0, 4)


class Learning:
    """Notes what is learned."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, float, bool]] = []

    def saw(self, language: str, probability: float, right: bool) -> None:
        self.seen.append((language, probability, right))


@pytest.fixture
def learning() -> Learning:
    return Learning()


@pytest.fixture
def learner(learning: Learning) -> AcceptanceLearner:
    return AcceptanceLearner(learning, lambda: None)  # type: ignore[arg-type]


def answered(result: CompletionResult, position: Position = HERE) -> Completed:
    return Completed(f"id{next(NUMBERS)}", URI, 1, "python", position, False, result, 3.0)


def suggested(learner: AcceptanceLearner, text: str, before: str = "x = ") -> str:
    """The id of a suggestion that went to the editor."""
    here = cursor(before)
    learner.requested(here)
    completed = answered(CompletionResult(text, verdict=Verdict(None, 0.7, {})), here.position)
    learner.completed(completed)
    return completed.id


def test_counts(learner: AcceptanceLearner) -> None:
    learner.shown("a 🙂")
    for length in (1, 3, 4):
        learner.accepted("a 🙂", length)
    learner.dismissed("a 🙂")
    assert learner.counts == {"shown": 1, "partly": 2, "accepted": 1, "dismissed": 1}


@pytest.mark.parametrize(
    ("typed", "right"),
    [("a + b", [True]), ("a + b\nc", [True]), ("a - ", [False]), ("a ", []), ("", [])],
)
def test_what_is_typed_judges_what_was_shown(
    learner: AcceptanceLearner, learning: Learning, typed: str, right: list[bool]
) -> None:
    suggested(learner, "a + b\nreturn x")
    learner.shown("a + b\nreturn x")
    learner.requested(cursor("x = " + typed))
    assert [verdict for _, _, verdict in learning.seen] == right


def test_what_was_not_shown_or_is_deleted_teaches_nothing(learner: AcceptanceLearner, learning: Learning) -> None:
    suggested(learner, "a + b")
    learner.requested(cursor("x = z"))
    suggested(learner, "a + b")
    learner.shown("a + b")
    learner.requested(cursor("x "))
    assert learning.seen == []


def test_an_accept_and_a_dismissal(learner: AcceptanceLearner, learning: Learning) -> None:
    suggested(learner, "a + b")
    learner.shown("a + b")
    suggested(learner, " + b", "x = a")  # the rest of it, after a key
    learner.accepted("a + b", 5)
    suggested(learner, "c")
    learner.shown("c")
    assert learner.dismissed("c") == (URI, 0)
    assert learning.seen == [("python", 0.7, True), ("python", 0.7, False)]


def test_an_id_says_which_suggestion_is_meant(learner: AcceptanceLearner, learning: Learning) -> None:
    """Two suggestions may have the same text; what is told of the older one says nothing of the newer."""
    old = suggested(learner, "a + b")
    new = suggested(learner, "a + b", "yy = ")
    learner.shown("a + b", old)
    learner.accepted("a + b", 5, old)
    assert learning.seen == []
    learner.shown("a + b", new)
    learner.accepted("a + b", 5, new)
    assert learning.seen == [("python", 0.7, True)]


def test_text_that_is_none_means_no_suggestion(learner: AcceptanceLearner, learning: Learning) -> None:
    suggested(learner, "a + b")
    learner.shown("")
    learner.accepted("", 0)
    assert learning.seen == []
    learner.shown("a + b")
    learner.accepted("", 0)
    assert learner.dismissed("") is None
    assert learning.seen == []


def test_skips_are_counted_until_they_have_reached_the_engine() -> None:
    counters = SkipCounters()
    for skip in (SkipReason.EMPTY, SkipReason.EMPTY, SkipReason.LOADING, None):
        counters.completed(answered(CompletionResult(skip=skip)))
    taken = counters.take()
    assert taken == {"empty": 2, "loading": 1}
    assert counters.take() == {}
    counters.completed(answered(CompletionResult(skip=SkipReason.EMPTY)))
    counters.restore(taken)  # the request failed
    assert counters.take() == {"empty": 3, "loading": 1}
