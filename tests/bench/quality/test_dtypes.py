from bench.quality.dtypes import compare


def test_answers_are_compared_gap_by_gap():
    reference = {name: {"text": name, "pass": 1} for name in "abcd"}
    other = reference | {"d": {"text": "other", "pass": 0}}
    del other["a"]
    found = compare(reference, other)
    assert (found["gaps"], found["identical"], found["pass"]) == (3, 2 / 3, 2 / 3)
    assert found["points_low"] < found["points"] == -100 / 3 < found["points_high"] <= 0
