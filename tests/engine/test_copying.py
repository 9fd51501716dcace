import random

import pytest

from dlsp_engine.decode.copying import LEAST, LONGEST, SINCE, Copier, stands
from dlsp_engine.decode.draft import Guess


def copy(text: list[int]) -> Guess:
    return Copier(frozenset({99}))(text)


def test_copies_what_followed_last_time():
    assert copy([1, 2, 3, 4, 5, 6, 1, 2, 3])[0] == [4, 5, 6, 1, 2, 3]
    assert copy([1, 2, 3, 4, 5, 6, 1, 2, 3, 7, 1, 2, 3])[0] == [7, 1, 2, 3]


def test_the_longest_match_goes_before_the_last_one():
    assert copy([1, 2, 3, 4, 9, 2, 3, 5, 1, 2, 3])[0][0] == 4
    assert copy([1, 2, 3, 4, 9, 2, 3, 5, 2, 3])[0][0] == 5


def test_has_no_idea_about_new_text_and_stops_at_special_tokens():
    assert copy([1, 2, 3, 4]) == ([], [])
    assert copy([1, 2, 3, 4, 9, 2]) == ([], []), "one token says too little"
    assert copy([4]) == copy([]) == ([], [])
    assert copy([1, 2, 3, 4, 7, 8, 99, 5, 4, 7, 8]) == ([], [])
    assert copy([4, 7, 8, 5, 99, 6, 4, 7, 8])[0] == [5]


def test_goes_on_with_a_text_that_grows():
    copier, text = Copier(frozenset()), [1, 2, 3, 4, 1, 2]
    assert copier(text)[0] == [3, 4, 1, 2]
    text += [3, 4]
    assert copier(text) == copy(text)


def test_is_bounded():
    line = list(range(30))
    assert len(copy([*line, *line[:3]])[0]) == LONGEST


def test_is_surer_the_longer_the_match():
    tokens, sure = copy([1, 2, 3, 4, 5, 6, 7, 1, 2])
    assert tokens == [3, 4, 5, 6, 7, 1, 2]
    assert sure == [stands(2 + SINCE * i) for i in range(7)]
    assert sure == sorted(sure)
    assert stands(2) == pytest.approx(0.53, abs=0.01)
    assert stands(16) < 1


def test_is_the_obvious_search():
    rng = random.Random(0)
    for _ in range(300):
        text = [rng.randrange(4) for _ in range(rng.randrange(2, 40))]
        matches = [
            (agreed, end)
            for end in range(1, len(text))
            if (agreed := next((n for n in range(16, 0, -1) if end >= n and text[end - n : end] == text[-n:]), 0))
        ]
        agreed, end = max(matches, default=(0, len(text)))
        if agreed < LEAST:
            agreed, end = 0, len(text)
        assert copy(text) == (
            text[end : end + LONGEST],
            [stands(agreed + SINCE * i) for i in range(len(text[end:][:LONGEST]))],
        )
