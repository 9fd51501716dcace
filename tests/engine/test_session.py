from dlsp_engine import Gap, Options
from dlsp_engine.decode.session import PREFILL_ROWS, Session
from dlsp_engine.engine import Engine


def prefilled(tiny: Engine, tokens: list[int]) -> Session:
    session = tiny.new_session()
    session.advance(tokens)
    while rows := session.prefill():
        assert len(rows) <= PREFILL_ROWS
        tiny.model.forward([(session.cache, rows)])
        session.extend([], len(rows))
    return session


def test_prefill_leaves_the_last_token_whose_row_gives_the_next(tiny: Engine):
    session = prefilled(tiny, list(range(200)))
    assert (session.cache.length, session.pending) == (199, [199])


def test_only_cached_rows_are_kept(tiny: Engine):
    """Known tokens without a row of their own (the last one) are never taken as cached."""
    session = prefilled(tiny, [1, 2, 3, 4])
    assert session.advance([1, 2, 3, 4, 5, 6]) == 3
    assert session.pending == [4, 5, 6]
    assert session.advance([1, 2, 9, 4]) == 2
    assert session.pending == [9, 4]
    assert session.advance([1, 2]) == 1, "the last known token is always asked again"


def test_rows_beyond_the_answer_are_dropped(tiny: Engine):
    session = prefilled(tiny, [1, 2, 3])
    session.extend([4, 5], cached=4)
    assert (session.tokens, session.cache.length) == ([1, 2, 3, 4, 5], 5)


def test_a_copy_goes_its_own_way(tiny: Engine):
    session = prefilled(tiny, [1, 2, 3])
    twin = session.copy()
    twin.advance([9, 9])
    assert (session.tokens, session.cache.length) == ([1, 2, 3], 2)


def test_the_cache_grows_in_place(tiny: Engine):
    session = prefilled(tiny, [7] * 700)
    fresh = prefilled(tiny, [7] * 700)
    before = session.cache.bytes
    session.extend([1] * 900, 0)
    while rows := session.prefill():
        tiny.model.forward([(session.cache, rows)])
        session.extend([], len(rows))
    assert session.cache.bytes > before
    assert session.cache._stored[0][:, :, :, :699].equal(fresh.cache._stored[0][:, :, :, :699])


def test_the_cache_grows_by_a_quarter_up_to_what_is_expected(tiny: Engine):
    session = tiny.new_session()
    session.advance([7] * 4000, answer=100)
    cache, bytes_before = session.cache, 0
    for length in range(0, 4100, 64):
        cache.length = length
        cache.reserve(64)
        if bytes_before and cache.bytes != bytes_before:
            assert cache.bytes_of(64) < cache.bytes - bytes_before <= bytes_before // 4 + cache.bytes_of(256)
        bytes_before = cache.bytes
    assert cache.bytes <= cache.bytes_of(4100 + 256)


def test_an_answer_is_recalled_while_what_is_typed_agrees_with_it(tiny: Engine):
    session = prefilled(tiny, [1, 2, 3])
    session.extend([4, 5, 6], cached=3)
    session.advance([1, 2, 3, 4])
    assert session.previous_answer == [5, 6]
    session.advance([1, 2, 3, 4])
    assert session.previous_answer == [], "what was not answered again is forgotten"
    session.extend([5, 6], cached=2)
    session.advance([1, 2, 9])
    assert session.previous_answer == []


def test_the_same_question_again_takes_hardly_a_step(tiny: Engine):
    gap, options = Gap("x = 1;", "\n"), Options(max_tokens=12)
    session = tiny.new_session()
    first = tiny.fill(gap, options, session)
    again = tiny.fill(gap, options, session)
    assert again.tokens == first.tokens
    assert len(first.tokens) >= 4
    assert again.cost.forwards < first.cost.forwards
    assert again.cost.forwards <= 2
    plain = Options(max_tokens=12, copy=False)
    assert tiny.fill(gap, plain, session).cost.forwards > again.cost.forwards, "no copying means no recalling"


def test_a_place_that_is_left_stays_whole(tiny: Engine):
    place = [*range(100), *[7] * 300]
    session = prefilled(tiny, place)
    other = [*range(100), *[8] * 300]
    left = session.set_aside(other)
    assert left is not None
    assert (left.tokens, left.cache.length) == (place, len(place) - 1)
    assert session.advance(other) == 100
    assert session.cache._stored[0][:, :, :, :100].equal(left.cache._stored[0][:, :, :, :100])
    session.cache._stored[0].zero_()
    assert left.cache._stored[0].any(), "each has its own"


def test_a_place_is_not_left_by_typing_or_by_little(tiny: Engine):
    session = prefilled(tiny, [7] * 500)
    assert session.set_aside([*[7] * 300, *[8] * 300]) is None, "most of it serves still"
    assert session.set_aside([7] * 501) is None
    assert prefilled(tiny, [7] * PREFILL_ROWS).set_aside([8] * 500) is None
    assert tiny.new_session().set_aside([8] * 500) is None
