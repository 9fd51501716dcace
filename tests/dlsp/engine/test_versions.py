import pytest

from dlsp.engine.state import State
from dlsp.engine.versions import API, Fit, fit


@pytest.mark.parametrize(
    ("theirs", "api", "ours", "what"),
    [
        ("0.2.0", API, "0.2.0", Fit.USE),
        ("0.2.0", 99, "0.2.0", Fit.USE),
        ("0.1.0", API, "0.2.0", Fit.REPLACE),
        ("0.9.0", API, "0.10.0", Fit.REPLACE),
        ("0.3.0", API, "0.2.0", Fit.USE),
        ("0.3.0", API + 1, "0.2.0", Fit.YIELD),
        ("0.2.0rc1", API, "0.2.0", Fit.REPLACE),
        ("", API, "0.2.0", Fit.REPLACE),
        ("what", 0, "0.2.0", Fit.REPLACE),
    ],
)
def test_fit(theirs: str, api: int, ours: str, what: Fit) -> None:
    assert fit(State("http://127.0.0.1:1", "t", "n", 1, "m", theirs, 0.0, api), ours) is what


def test_two_versions_never_replace_each_other_in_turns() -> None:
    def state(version: str) -> State:
        return State("http://127.0.0.1:1", "t", "n", 1, "m", version, 0.0, API)

    versions = ["0.1.0", "0.1.1", "0.2.0a1", "0.2.0", "1.0"]
    for one in versions:
        for other in versions:
            both = fit(state(one), other), fit(state(other), one)
            assert both.count(Fit.REPLACE) == (one != other)
