"""Which of a canvas's candidates are drafted, by pairs of a corpus and by the text before; and what is copied."""

import random

import numpy as np
import pytest
import torch

from dlsp_engine.decode import draft as drafting
from dlsp_engine.decode.draft import (
    AGREED_SINCE,
    FOLLOWED_LOG_P,
    FOLLOWED_TOKENS,
    MAX_COPIED,
    MIN_COPY_MATCH,
    Copier,
    Proposal,
    copy_confidence,
    followed,
    pick,
    read_canvas,
)
from dlsp_engine.decode.scores import Scores
from dlsp_engine.model.bigrams import Bigrams

VOCAB = 40
# A token that nothing is known of.
NEITHER = 30


@pytest.fixture
def pairs() -> Bigrams:
    """3 is followed by 5 a thousand times, by 6 ten times; 7 by 3 a thousand times."""
    first = np.repeat([3, 3, 7], [1000, 10, 1000])
    return Bigrams.counted(first, np.repeat([5, 6, 3], [1000, 10, 1000]), VOCAB, most=3)


@pytest.fixture
def logits() -> torch.Tensor:
    """5 and 6 are nearly even in the second row, 3 and 9 in the first; what stands before decides."""
    logits = torch.full((2, VOCAB), -9.0)
    logits[0, 3], logits[0, 9] = 2.0, 2.1
    logits[1, 5], logits[1, 6] = 2.0, 2.1
    return logits


def test_a_choice_depends_on_the_one_before(pairs: Bigrams, logits: torch.Tensor):
    assert read_canvas(Scores(logits), [NEITHER]).tokens == [9, 6]
    drafted = read_canvas(Scores(logits), [7], pairs)
    assert drafted.tokens == [3, 5]
    assert all(0.4 < one < 1 for one in drafted.confidence)
    assert read_canvas(Scores(logits), [NEITHER], pairs).tokens == [9, 6], "9 says nothing of what comes behind it"


def test_a_choice_follows_the_text(logits: torch.Tensor):
    text = [1, 7, 3, 5, 2, 7]
    drafted = read_canvas(Scores(logits), text)
    assert drafted.tokens == [3, 5]
    assert drafted.confidence[0] > read_canvas(Scores(logits), [7]).confidence[0]
    assert read_canvas(Scores(logits), [3, 7]).tokens == [9, 6], "nothing has followed it yet"
    sharp = torch.where(logits > 0, 40 * logits, logits)
    assert read_canvas(Scores(sharp), text).tokens == [9, 6], "what the canvas is sure of stays"


def test_no_token_is_added_that_the_canvas_finds_unlikely():
    logits = torch.randn(3, VOCAB, generator=torch.Generator().manual_seed(0))
    logits[:, 7] = -30.0
    assert 7 not in read_canvas(Scores(logits), [7] * 50).tokens


def test_each_token_that_was_followed_before_counts():
    """Against the obvious search."""
    generator = np.random.default_rng(0)
    for length in range(1, 60):
        text = generator.integers(0, 3, length)
        last = text[-FOLLOWED_TOKENS:].tolist()
        expected = [
            max(
                back
                for back in range(len(last) + 1)
                if not back
                or any(text[i - back : i].tolist() == last[-back:] and text[i] == token for i in range(back, length))
            )
            for token in range(4)
        ]
        assert followed(text, last, np.arange(4)).tolist() == expected, text


def test_a_followed_token_rises_by_what_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(drafting, "SHARPNESS", 1.0)
    log_p = np.log(np.array([[0.5, 0.3, 0.2]]))
    drafted = pick(log_p, np.array([[8, 9, 10]]), [4, 10, 3, 10, 2, 4])
    whole = 0.8 + 0.2 * np.exp(FOLLOWED_LOG_P)
    assert (drafted.tokens, drafted.confidence) == ([10], pytest.approx([0.2 * np.exp(FOLLOWED_LOG_P) / whole]))
    (others,) = drafted.alternatives
    assert others == [(8, pytest.approx(0.5 / whole)), (9, pytest.approx(0.3 / whole))], "what is left of the whole"


def test_alternatives_are_the_next_likeliest():
    log_p = np.log(np.array([[0.7, 0.1, 0.1, 0.09, 0.009, 0.001], [0.99, 0.002, 0.002, 0.002, 0.002, 0.002]]))
    drafted = pick(log_p, np.array([[4, 3, 2, 1, 0, 5]] * 2), [NEITHER])
    assert drafted.tokens == [4, 4]
    first, second = drafted.alternatives
    assert [token for token, _ in first] == [3, 2, 1]
    assert not second, "none is likely enough"
    sure = [drafted.confidence[0], *(one for _, one in first)]
    assert sure == sorted(sure, reverse=True)


def test_later_rows_go_by_what_is_given(pairs: Bigrams, logits: torch.Tensor):
    log_p, candidates = logits.log_softmax(-1).topk(8)
    sure, tokens = log_p.numpy(), candidates.numpy()
    assert pick(sure, tokens, [7], pairs).tokens == [3, 5]
    assert pick(sure, tokens, [7], pairs, given=[NEITHER]).tokens == [3, 6]


def test_the_order_of_the_likeliest_is_kept_where_nothing_is_known():
    empty = Bigrams.counted(np.array([], int), np.array([], int), VOCAB, most=5)
    logits = torch.randn(4, VOCAB, generator=torch.Generator().manual_seed(0))
    drafted = read_canvas(Scores(logits), [NEITHER], empty)
    assert drafted.tokens == logits.argmax(-1).tolist()
    assert drafted == read_canvas(Scores(logits), [NEITHER])
    assert all(0 < one < 1 for one in drafted.confidence)


def copy(text: list[int]) -> Proposal:
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
    assert len(copy([*line, *line[:3]])[0]) == MAX_COPIED


def test_is_surer_the_longer_the_match():
    tokens, sure = copy([1, 2, 3, 4, 5, 6, 7, 1, 2])
    assert tokens == [3, 4, 5, 6, 7, 1, 2]
    assert sure == [copy_confidence(2 + AGREED_SINCE * i) for i in range(7)]
    assert sure == sorted(sure)
    assert copy_confidence(2) == pytest.approx(0.53, abs=0.01)
    assert copy_confidence(16) < 1


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
        if agreed < MIN_COPY_MATCH:
            agreed, end = 0, len(text)
        assert copy(text) == (
            text[end : end + MAX_COPIED],
            [copy_confidence(agreed + AGREED_SINCE * i) for i in range(len(text[end:][:MAX_COPIED]))],
        )
