"""What editors tell of suggestions is counted."""

from types import SimpleNamespace

from dlsp.server.feedback import Feedback


def test_counts() -> None:
    feedback = Feedback()
    item = SimpleNamespace(insertText="a 🙂")
    feedback.shown()
    feedback.partly(item, 1)
    feedback.partly(item, 3)
    feedback.partly(item, 4)
    feedback.dismissed()
    assert feedback.counts == {"shown": 1, "partly": 2, "accepted": 1, "dismissed": 1}
