"""The bench of chats with and without the infill update: its sums."""

from bench.instruct import summary


def test_points_are_those_that_a_way_gains_on_the_published_model() -> None:
    right = [(1, 1, 1), (1, 1, 0), (1, 1, 0), (0, 1, 1), (0, 0, 0)]
    samples = [
        {"task": str(at), "published": before, "shipped": shipped, "merged": merged}
        for at, (before, shipped, merged) in enumerate(right)
    ]
    metrics = summary(samples)
    assert metrics["published/pass@1"] == 0.6
    assert metrics["shipped/points"] == 20
    assert metrics["merged/points"] == -20
    assert [metrics[f"merged/{name}"] for name in ("won", "lost", "p")] == [1, 2, 1]
    assert metrics["merged/points_low"] < -20 < metrics["merged/points_high"]
