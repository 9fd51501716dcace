"""What is asked: the same prompt as text and as tokens."""

from bench.peers.measure import MEASURES
from bench.peers.prompts import LONG, SHORT, rounds
from bench.quality.sets import Task
from dlsp_engine.text.prompt import Gap, prompt
from dlsp_engine.text.tokenizer import ByteTokenizer

TASK = Task("T/0/L1", "add", "def add(a, b):\n", "\n", "    return a + b\n", "")


def test_a_round_has_a_turn_for_every_measure():
    (one,) = rounds([TASK], ByteTokenizer())
    assert one.turns.keys() == MEASURES.keys()
    assert rounds([TASK], ByteTokenizer()) == [one]


def test_tokens_are_those_of_our_engines_prompt():
    tokenizer = ByteTokenizer()
    (one,) = rounds([TASK], tokenizer)
    for name in ("prefill-1000", "prefill-300", "decode", "line"):
        ask = one.turns[name].ask
        assert list(ask.tokens) == prompt(Gap(ask.prefix, ask.suffix), tokenizer).tokens, name


def test_passages_have_about_the_length_they_say():
    turns = rounds([TASK], ByteTokenizer())[0].turns
    assert SHORT - 90 < len(turns["prefill-300"].ask.tokens) <= SHORT + 4
    assert LONG - 90 < len(turns["prefill-1000"].ask.tokens) <= LONG + 4
    assert turns["prefill-300"].ask.fresh
    assert not turns["decode"].ask.fresh


def test_half_the_line_is_typed_then_one_character_more():
    turn = rounds([TASK], ByteTokenizer())[0].turns["typed"]
    assert turn.before is not None
    assert turn.ask.middle == "    return"
    assert turn.before.middle == "    retur"
    assert turn.ask.end == "line"
