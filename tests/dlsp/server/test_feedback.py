"""What editors tell of suggestions is counted, and learned from."""

from collections import defaultdict
from types import SimpleNamespace
from typing import Any, cast

import pytest
from lsprotocol import types

from dlsp.completions.gate.gate import Verdict
from dlsp.server.feedback import Feedback
from dlsp.server.moment import Moment
from dlsp.server.offer import Offer, item
from dlsp.server.typing import Typing
from dlsp.settings.schema import Settings

HERE = types.Position(0, 4)


class Learned:
    """A server, as far as feedback needs one."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, float, bool]] = []
        self.learning = self
        self.typings: dict[str, Typing] = defaultdict(lambda: Typing(Settings()))

    def saw(self, language: str, probability: float, right: bool) -> None:
        self.seen.append((language, probability, right))

    def typing(self, uri: str) -> Typing:
        return self.typings[uri]


@pytest.fixture
def server() -> Learned:
    return Learned()


@pytest.fixture
def feedback(server: Learned) -> Feedback:
    return Feedback(cast(Any, server))


def offered(feedback: Feedback, server: Learned, text: str, before: str = "x = ") -> None:
    moment = SimpleNamespace(uri="f", language="python", before=before, position=HERE, typing=server.typing("f"))
    feedback.offered(cast(Moment, moment), Offer(item(text, HERE), None, Verdict(None, 0.7, {})))


def test_counts(feedback: Feedback) -> None:
    feedback.shown("a 🙂")
    for length in (1, 3, 4):
        feedback.partly("a 🙂", length)
    feedback.dismissed("a 🙂")
    assert feedback.counts == {"shown": 1, "partly": 2, "accepted": 1, "dismissed": 1}


@pytest.mark.parametrize(
    ("typed", "right"),
    [("a + b", [True]), ("a + b\nc", [True]), ("a - ", [False]), ("a ", []), ("", [])],
)
def test_what_is_typed_judges_what_was_shown(
    feedback: Feedback, server: Learned, typed: str, right: list[bool]
) -> None:
    offered(feedback, server, "a + b\nreturn x")
    feedback.shown("a + b\nreturn x")
    feedback.follow("f", "x = " + typed, "")
    assert [verdict for _, _, verdict in server.seen] == right


def test_what_was_not_shown_or_is_deleted_teaches_nothing(feedback: Feedback, server: Learned) -> None:
    offered(feedback, server, "a + b")
    feedback.follow("f", "x = z", "")
    offered(feedback, server, "a + b")
    feedback.shown("a + b")
    feedback.follow("f", "x ", "")
    assert server.seen == []


def test_an_accept_and_a_dismissal(feedback: Feedback, server: Learned) -> None:
    offered(feedback, server, "a + b")
    feedback.shown("a + b")
    offered(feedback, server, " + b", "x = a")  # the rest of it, after a key
    feedback.partly("a + b", 5)
    offered(feedback, server, "c", "x = ")
    feedback.shown("c")
    feedback.dismissed("c")
    assert server.seen == [("python", 0.7, True), ("python", 0.7, False)]
    assert server.typing("f").dismissed == (0, "c")
