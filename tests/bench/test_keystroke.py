"""Samples of keys, summed up."""

from bench.keystroke import metrics, sample


def test_the_95th_percentile_of_few_keys_is_no_lower_one() -> None:
    """Of 15 keys it lies between the two slowest, not at the third or second of them."""
    found = metrics([sample(100 + number, 90) for number in range(15)], "x/")
    assert (found["x/keys"], found["x/over_ms/median"]) == (15, 17)
    assert found["x/over_ms/p95"] == 23.3
