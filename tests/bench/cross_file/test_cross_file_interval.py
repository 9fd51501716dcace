"""How sure the ratio is."""

from bench.cross_file.__main__ import WITH, WITHOUT, confidence


def test_gaps_of_one_package_are_no_witnesses_of_their_own() -> None:
    """Ten gaps of each of eight packages say as little of others as one of each."""

    def samples(gaps: int) -> list[dict]:
        packages = [{WITH: {"right": True}, WITHOUT: {"right": number % 2 == 0}} for number in range(8)]
        return [
            each | {"place": f"package{number}/file.py:{gap}"}
            for number, each in enumerate(packages)
            for gap in range(gaps)
        ]

    assert confidence(samples(10)) == confidence(samples(1))
