"""Both sides on the real model: the same prompt, the same caching, the same line."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.command import weights_cache
from bench.peers.child import Child
from bench.peers.hub import Transformers
from bench.peers.llama import Llama
from bench.peers.ours import Ours
from bench.peers.side import Ask
from dlsp_engine.model.convert import converted
from dlsp_engine.text.prompt import Gap, prompt
from dlsp_engine.text.tokenizer import ModelTokenizer

pytestmark = pytest.mark.model

LINE = (
    "def add(a, b):\n    total = a + b\n    return total\n\n\ndef subtract(a, b):\n",
    "    return total\n",
)
# The model answers this one with line breaks first.
BREAK = (
    "def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n",
    "\n\ndef multiply(a, b):\n    return a * b\n",
)
SIDES = {
    "bfloat16": (Ours, "bfloat16"),
    "llama.cpp": (Llama, False),
    "llama.cpp n-gram": (Llama, True),
    "transformers": (Transformers,),
}


@pytest.fixture(scope="module", params=SIDES)
def child(request: pytest.FixtureRequest, gguf: Path) -> Iterator[Child]:
    make, *kind = SIDES[request.param]
    one = Child(request.param, {}, make, gguf, *kind, 2)
    yield one
    one.close()


@pytest.fixture(scope="module")
def tokenizer(gguf: Path) -> ModelTokenizer:
    return ModelTokenizer(converted(gguf, weights_cache("bfloat16", infill_update=False), dense=False))


def line(texts: tuple[str, str], tokenizer: ModelTokenizer) -> Ask:
    return Ask(*texts, "", tuple(prompt(Gap(*texts), tokenizer).tokens), "line", 32)


@pytest.mark.parametrize(
    ("texts", "answer"), [(LINE, "    return total - b"), (BREAK, "\n\ndef divide(a, b):")], ids=["line", "break"]
)
def test_all_answer_the_same_line_from_the_same_prompt(
    child: Child, tokenizer: ModelTokenizer, texts: tuple[str, str], answer: str
):
    ask = line(texts, tokenizer)
    reply = child.ask(replace(ask, fresh=True), "autoregressive")
    assert reply.text == answer
    assert (reply.prompt, reply.cached) == (len(ask.tokens), 0)
    assert 2 < reply.tokens < 12
    assert reply.milliseconds > 0


def test_asked_again_all_but_the_last_token_is_cached(child: Child, tokenizer: ModelTokenizer):
    ask = line(LINE, tokenizer)
    child.ask(ask, "autoregressive")
    warm = child.ask(ask, "autoregressive")
    assert warm.cached == warm.prompt - 1
    assert child.ask(replace(ask, fresh=True), "autoregressive").cached == 0
    assert child.resident() > 200e6


def test_it_ends_after_so_many_tokens_too(child: Child, tokenizer: ModelTokenizer):
    reply = child.ask(replace(line(LINE, tokenizer), end="token", max_tokens=3), "autoregressive")
    assert reply.tokens == 3
    assert reply.text.strip()


def test_the_first_line_is_timed_where_it_is_watched(child: Child, tokenizer: ModelTokenizer):
    ask = replace(line(LINE, tokenizer), end="token", max_tokens=16, watched=True)
    child.ask(ask, "autoregressive")
    reply = child.ask(ask, "autoregressive")
    assert reply.text.startswith("    return total - b\n")
    assert reply.first_line
    assert 0 < reply.first_line < reply.milliseconds
    assert reply.tokens == 16
    assert child.ask(replace(ask, watched=False), "autoregressive").text == reply.text


def test_several_are_answered_together(child: Child, tokenizer: ModelTokenizer):
    asks = [replace(line(texts, tokenizer), fresh=True) for texts in (LINE, BREAK, LINE)]
    took = child.together(asks, "autoregressive")
    assert 0 < took.first <= took.last
    assert took.tokens > 3 * 2


def test_a_prompt_that_was_cached_brings_no_token_of_its_answer(gguf: Path, tokenizer: ModelTokenizer):
    """It would be drafted again, and the verified mode would be given what the others have to find."""
    side = Ours(gguf, "bfloat16", 2)
    ask = line(LINE, tokenizer)
    assert side.answer(replace(ask, max_tokens=1), "verified").tokens == 1
    assert side._session.tokens == list(ask.tokens)
    side.answer(ask, "verified")
    assert len(side._session.tokens) > len(ask.tokens)
