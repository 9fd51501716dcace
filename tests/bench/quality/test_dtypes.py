from bench.quality.dtypes import compare


def test_answers_are_compared_gap_by_gap():
    reference = {f"HumanEval/{name}/L1": {"text": name, "pass": 1} for name in "abcd"}
    other = reference | {"HumanEval/d/L1": {"text": "other", "pass": 0}}
    del other["HumanEval/a/L1"]
    found = compare(reference, other)
    assert (found["gaps"], found["identical"], found["pass"]) == (3, 2 / 3, 2 / 3)
    assert found["points_low"] < found["points"] == -100 / 3 < found["points_high"] <= 0


def test_gaps_of_one_program_are_no_witnesses_of_their_own():
    """Ten gaps of each of four programs: they say as little as one gap of each."""

    def points(gaps: int) -> dict[str, float]:
        reference = {f"HumanEval/{name}/L{gap}": {"text": "", "pass": 1} for name in "abcd" for gap in range(gaps)}
        worse = {task: {"text": "", "pass": int("/d/" not in task)} for task in reference}
        return compare(reference, worse)

    many, few = points(10), points(1)
    assert (many["points_low"], many["points_high"]) == (few["points_low"], few["points_high"])
