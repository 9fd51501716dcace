"""The settings of context, as the server reads them."""

from dlsp.context.budget import LEAST, MOST, TOKENS
from dlsp.server.settings import Settings, settings


def test_what_one_layer_excludes_none_lets_in() -> None:
    made, complaints = settings([{"ignore": ["a/"]}, {"ignore": []}, {"ignore": ["*.sql"]}])
    assert made.ignore == ("a/", "*.sql")
    assert complaints == []


def test_the_budget_has_bounds() -> None:
    assert Settings().context == TOKENS
    assert [settings([{"context": asked}])[0].context for asked in (1, 4096, 10**9)] == [LEAST, 4096, MOST]


def test_values_that_make_no_sense() -> None:
    for wrong in ({"ignore": "a.py"}, {"ignore": [1]}, {"context": "much"}, {"context": True}):
        made, complaints = settings([wrong])
        assert made == Settings()
        assert len(complaints) == 1
