from dlsp_engine.decode.session import Session
from dlsp_engine.engine import Engine
from dlsp_engine.serve.sessions import Sessions


def session(tiny: Engine, tokens: int) -> Session:
    made = tiny.new_session()
    made.cache.reserve(tokens)
    return made


def read(tiny: Engine, tokens: list[int]) -> Session:
    made = session(tiny, len(tokens))
    made.advance(tokens)
    made.cache.length = len(tokens) - 1
    return made


def test_the_least_recently_kept_goes_first(tiny: Engine):
    one = session(tiny, 256)
    kept = Sessions(3 * one.cache.bytes)
    for name in "abc":
        kept.keep(name, session(tiny, 256))
    kept.keep("a", kept.take("a") or one)  # used again
    kept.keep("d", session(tiny, 256))
    assert [name for name in "abcd" if kept.take(name)] == ["a", "c", "d"]


def test_bytes_count_and_not_the_number(tiny: Engine):
    small = session(tiny, 256)
    kept = Sessions(10 * small.cache.bytes)
    for number in range(10):
        kept.keep(str(number), session(tiny, 256))
    assert len(kept) == 10
    kept.keep("large", session(tiny, 2048))
    assert len(kept) == 3
    assert kept.bytes <= kept.most_bytes


def test_of_one_that_is_too_large_the_beginning_is_kept(tiny: Engine):
    kept = Sessions(session(tiny, 1024).cache.bytes)
    tokens = [2] * 2048
    kept.keep("b", read(tiny, tokens))
    assert kept.bytes <= kept.most_bytes
    again = kept.take("b")
    assert again
    assert 600 < again.advance(tokens) <= 1024


def test_one_of_which_nothing_fits_is_not_kept(tiny: Engine):
    kept = Sessions(session(tiny, 256).cache.bytes - 1)
    kept.keep("b", read(tiny, [2] * 2048))
    assert len(kept) == 0


def test_room_that_a_session_grew_into_is_no_reason_to_lose_it(tiny: Engine):
    grown = session(tiny, 2048)
    grown.cache.length = 2048
    grown.cache.reserve(1)
    kept = Sessions(session(tiny, 2304).cache.bytes)
    assert grown.cache.bytes > kept.most_bytes, "it has grown by a quarter"
    kept.keep("a", grown)
    assert kept.take("a") is grown
    assert grown.cache.length == 2048


def test_without_a_name_nothing_is_kept(tiny: Engine):
    kept = Sessions()
    kept.keep(None, session(tiny, 256))
    kept.keep("", session(tiny, 256))
    assert len(kept) == 0


def test_of_a_place_that_was_left_only_the_latest_is_kept(tiny: Engine):
    kept = Sessions()
    kept.keep("a", session(tiny, 256))
    kept.keep_unnamed(read(tiny, [1] * 300))
    kept.keep_unnamed(read(tiny, [2] * 300))
    latest = read(tiny, [1] * 280)
    kept.keep_unnamed(latest)
    assert len(kept) == 3
    assert list(kept)[-1] is latest
    assert kept.take("a")
