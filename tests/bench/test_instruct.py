"""The bench of chats with and without the infill update: its sums."""

from bench.instruct import summary


def test_points_are_those_that_the_update_gains() -> None:
    right = [(1, 1), (1, 0), (1, 0), (0, 1), (0, 0)]
    samples = [{"task": str(at), "published": before, "updated": after} for at, (before, after) in enumerate(right)]
    metrics = summary(samples)
    assert metrics["published/pass@1"] == 0.6
    assert metrics["points"] == -20
    assert (metrics["won"], metrics["lost"], metrics["p"]) == (1, 2, 1)
    assert metrics["points_low"] < -20 < metrics["points_high"]
