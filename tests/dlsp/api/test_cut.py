from hypothesis import given
from hypothesis import strategies as st

from dlsp.api.cut import Cut


def test_the_first_stop_text_ends_it() -> None:
    assert Cut(("b", "cd")).end("xcdb") == (1, "cd")
    assert Cut(("b",)).end("xyz") == (None, "")


def test_a_begun_stop_text_is_held_back() -> None:
    cut = Cut(("\n\n", "###"))
    assert cut.settled("a\n") == 1
    assert cut.settled("a##") == 1
    assert cut.settled("a#b") == 3


def test_a_line_indented_too_little_ends_it() -> None:
    cut = Cut(indent=4)
    assert cut.end("x = 1\n    y = 2\n\nz = 3") == (16, "")
    assert cut.end("x = 1\n    y = 2\n\n") == (None, "")
    assert cut.settled("x = 1\n  ") == 5


texts = st.text("ab\n ", max_size=20)


@given(texts, st.lists(st.text("ab\n", min_size=1, max_size=3), max_size=3), st.integers(0, 2))
def test_what_was_sent_is_never_taken_back(text: str, stops: list[str], indent: int) -> None:
    cut = Cut(tuple(stops), indent)
    end = cut.end(text)[0]
    for length in range(len(text) + 1):
        part = text[:length]
        if cut.end(part)[0] is None:
            assert cut.settled(part) <= (len(text) if end is None else end)
