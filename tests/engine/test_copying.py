from dlsp_engine.decode.copying import LONGEST, Copier


def test_copies_what_followed_last_time():
    copier = Copier(frozenset({99}))
    assert copier([1, 2, 3, 4, 5, 6, 1, 2, 3]) == [4, 5, 6, 1, 2, 3]
    assert copier([1, 2, 3, 4, 5, 6, 1, 2, 3, 7, 1, 2, 3]) == [7, 1, 2, 3]


def test_has_no_idea_about_new_text_and_stops_at_special_tokens():
    copier = Copier(frozenset({99}))
    assert copier([1, 2, 3, 4]) == []
    assert copier([1, 2, 3, 4, 7, 8, 99, 5, 4, 7, 8]) == []
    assert Copier(frozenset({99}))([4, 7, 8, 5, 99, 6, 4, 7, 8]) == [5]


def test_is_bounded():
    line = list(range(30))
    assert len(Copier(frozenset())([*line, *line[:3]])) == LONGEST
