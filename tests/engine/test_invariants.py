"""The design's invariants on a tiny random model. On real gaps: `python -m bench.identity`."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import torch

from dlsp_engine.decode import verify
from dlsp_engine.decode.answer import Fill
from dlsp_engine.decode.draft import Draft, Drafter
from dlsp_engine.decode.ends import Ending
from dlsp_engine.decode.verify import Verified
from dlsp_engine.engine import Engine
from dlsp_engine.model.qwen2 import Model
from dlsp_engine.model.rows import MASK, Rows
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap

GAPS = [
    Gap("def f(x):\n    return ", "\n\nprint(f(1))\n"),
    Gap("for name in na", "mes:\n    pass\n", middle="mes"),
    Gap("", ""),
    Gap("a = [1, 2, 3, 4]\nb = [1, 2, 3, ", "\n", middle="4]\nc = [1,"),
    Gap("x é", "日本"),
]


def drafters(answer: tuple[int, ...], start: int) -> dict[str, Drafter | None]:
    """Drafts of every kind for an answer that begins `start` tokens in."""
    rng = random.Random(7)

    def right(tokens: list[int]) -> list[int]:
        at = len(tokens) - start
        return list(answer[at : at + 5])

    def spoiled(tokens: list[int]) -> list[int]:
        return [t if rng.random() < 0.7 else rng.randrange(262) for t in right(tokens)]

    def sure(draft: Callable[[list[int]], list[int]]) -> Drafter:
        return lambda tokens: (drafted := draft(tokens), [0.8] * len(drafted))

    return {
        "canvas": None,
        "empty": sure(lambda tokens: []),
        "random": sure(lambda tokens: [rng.randrange(262) for _ in range(rng.randrange(6))]),
        "right": sure(right),
        "spoiled": sure(spoiled),
        "ends at once": sure(lambda tokens: [261] * 3),
    }


@pytest.mark.parametrize("temperature", [0, 1.0])
@pytest.mark.parametrize("schedule", ["auto", "split", "merged"])
@pytest.mark.parametrize("number", range(len(GAPS)))
def test_verified_is_autoregressive(tiny: Engine, number: int, schedule: str, temperature: float):
    """Invariant 1: whatever was drafted."""
    gap = GAPS[number]
    common = {"temperature": temperature, "seed": 5, "max_tokens": 24}
    session = tiny.new_session()
    expected = tiny.fill(gap, Options(mode="autoregressive", **common), session)
    start = expected.cost.prompt_tokens
    for name, drafter in drafters(expected.tokens, start).items():
        for width in (1, 3):
            options = Options(schedule=schedule, draft=width, copy=False, **common)
            fill = tiny.fill(gap, options, drafter=drafter)
            assert (fill.tokens, fill.text, fill.reason) == (expected.tokens, expected.text, expected.reason), name
            if name == "right" and len(expected.tokens) > 8:
                assert fill.cost.tau > 2, "right drafts must pay"


def long_answer(engine: Engine, tokens: int) -> tuple[Gap, Fill]:
    """A gap in which no word is cut, so that nothing is forced, and its answer of so many tokens."""
    greedy = Options(mode="autoregressive", max_tokens=tokens)
    several = [Gap(f"x = {n};", "\n") for n in range(50)]
    return next((gap, fill) for gap in several if len((fill := engine.fill(gap, greedy)).tokens) == tokens)


@pytest.mark.parametrize("temperature", [0, 1.0])
@pytest.mark.parametrize("schedule", ["auto", "split", "merged"])
@pytest.mark.parametrize("number", range(len(GAPS)))
def test_alternatives_stand_where_they_are_right(
    tiny: Engine, number: int, schedule: str, temperature: float, monkeypatch: pytest.MonkeyPatch
):
    """Of drafts that are wrong at one place, where an alternative is right, there or elsewhere; and the canvas behind
    one is as good as any.
    """
    gap = GAPS[number]
    common = {"temperature": temperature, "seed": 5, "max_tokens": 24}
    session = tiny.new_session()
    expected = tiny.fill(gap, Options(mode="autoregressive", **common), session)
    start, rng = expected.cost.prompt_tokens, random.Random(7)

    def guess(logits: torch.Tensor, known: Sequence[int], *_: object) -> Draft:
        """What the canvas says does not matter here."""
        right = [*expected.tokens, 0, 0, 0, 0][len(known) - start :][: len(logits)]
        wrong_at, told_at = rng.randrange(4), rng.randrange(4)
        tokens = [t if i != wrong_at else 1 + t % 200 for i, t in enumerate(right)]
        beside = [[(7, 0.2), (t if i == told_at else 8, 0.3)] for i, t in enumerate(right)]
        return Draft(tokens, [0.7] * len(tokens), beside, canvas=True)

    monkeypatch.setattr(verify, "read_canvas", guess)
    fill = tiny.fill(gap, Options(schedule=schedule, draft=3, copy=False, **common))
    assert (fill.tokens, fill.text, fill.reason) == (expected.tokens, expected.text, expected.reason)
    for of in (0, 1):
        assert [one[of] for one in fill.confidence] == pytest.approx([one[of] for one in expected.confidence], abs=1e-4)


def test_an_alternative_saves_the_step_that_its_token_would_take(tiny: Engine, monkeypatch: pytest.MonkeyPatch):
    gap, expected = long_answer(tiny, 24)
    start = expected.cost.prompt_tokens

    def wrong(logits: torch.Tensor, known: Sequence[int], *_: object) -> Draft:
        right = [*expected.tokens, 0, 0][len(known) - start]
        return Draft([1 + right % 200, 5], [0.6, 0.5], [[(9, 0.1), (right, 0.3)], []], canvas=True)

    monkeypatch.setattr(verify, "read_canvas", wrong)
    options = Options(schedule="merged", draft=2, copy=False, max_tokens=24)
    fill = tiny.fill(gap, options)
    assert fill.tokens == expected.tokens
    assert fill.cost.forwards == 13, "one for the first token, then two at a time"


def test_what_would_end_the_gap_is_no_alternative(tiny: Engine):
    """The row before says as much."""
    stop = min(tiny.tokenizer.stops)
    request = tiny.request(Gap("x = 1;", ""), Options(end="line", max_tokens=3))
    newline = tiny.tokenizer.encode("\n")
    assert isinstance(request.decoder, Verified)
    ends = [(stop, 0.2), (newline[0], 0.2), (8, 0.2)]
    useful = request.decoder._until_end(Draft([5, 6, 7, 8], [0.5] * 4, [ends, ends, ends, ends], canvas=True))
    assert (useful.tokens, useful.confidence) == ([5, 6, 7], [0.5] * 3)
    first = [ends[1], (8, 0.2)]  # a newline before anything ends no line
    assert useful.alternatives == [first, [(8, 0.2)], []], "the third is the last in any case"


LEAST_TOKENS = 9


@pytest.fixture
def late(tiny: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine whose model wants to end often, at gaps that may end after LEAST_TOKENS tokens. The bytes with which
    healing lets GAPS begin are no end tokens: else nothing but an end would be allowed there.
    """
    monkeypatch.setattr(tiny.tokenizer, "stops", frozenset(range(110, 262)) - set("names é".encode()))
    monkeypatch.setattr(Ending, "may_end", property(lambda ending: ending._tokens >= LEAST_TOKENS))
    monkeypatch.setattr(Ending, "breaks", property(lambda ending: ending._tokens % 2 == 0))
    return tiny


@pytest.mark.parametrize("temperature", [0, 1.0])
@pytest.mark.parametrize("schedule", ["auto", "split", "merged"])
@pytest.mark.parametrize("number", range(len(GAPS)))
def test_an_end_is_refused_alike_in_every_mode(late: Engine, number: int, schedule: str, temperature: float):
    gap = GAPS[number]
    common = {"temperature": temperature, "seed": 5, "max_tokens": 24}
    expected = late.fill(gap, Options(mode="autoregressive", **common))
    assert expected.reason == "end"
    assert len(expected.tokens) >= LEAST_TOKENS
    assert late.fill(gap, Options(mode="diffusion", canvas=1, **common)).tokens == expected.tokens
    free = late.fill(gap, Options(mode="diffusion", canvas=8, threshold=0, **common))
    assert len(free.tokens) >= LEAST_TOKENS
    for name, drafter in drafters(expected.tokens, expected.cost.prompt_tokens).items():
        options = Options(schedule=schedule, draft=3, copy=False, **common)
        fill = late.fill(gap, options, drafter=drafter)
        assert (fill.tokens, fill.text, fill.reason) == (expected.tokens, expected.text, expected.reason), name


def test_advanced_is_fresh(tiny: Engine):
    """Invariant 2: typing on, deleting and accepting in one session equal a fresh session each time."""
    session = tiny.new_session()
    gap = Gap("def area(w, h):\n    ", "\n\nprint(area(2, 3))\n")
    options = Options(max_tokens=12)
    typed = ["", "r", "re", "return", "retu", "return w", "return w * h\n", "q"]
    accepted = "return" + tiny.fill(Gap(gap.prefix, gap.suffix, "return"), options).text
    typed += ["return", accepted, "return", accepted + " + 1"]
    reused = 0
    for middle in typed:
        now = Gap(gap.prefix, gap.suffix, middle)
        fill = tiny.fill(now, options, session)
        fresh = tiny.fill(now, options)
        assert fill.tokens == fresh.tokens, middle
        reused += fill.cost.cached_tokens
    assert reused > len(typed[1:]) * 30, "the prompt must not be prefilled again"


@pytest.mark.parametrize("mode", ["autoregressive", "verified", "diffusion"])
def test_a_session_serves_any_mode_after_any_other(tiny: Engine, mode: str):
    session = tiny.new_session()
    gap = Gap("total = sum(", ")\n")
    for before in ("diffusion", "verified", "autoregressive"):
        tiny.fill(gap, Options(mode=before, max_tokens=9), session)
        fill = tiny.fill(gap, Options(mode=mode, max_tokens=9), session)
        assert fill.tokens == tiny.fill(gap, Options(mode=mode, max_tokens=9)).tokens


def test_merged_goes_on_from_the_canvas_of_the_row_where_acceptance_stopped(tiny: Engine):
    """Its draft is what `split` would draft there, however much of the draft before stood."""
    options = Options(max_tokens=24, draft=3, copy=False)
    gap, expected = long_answer(tiny, 24)
    runs = set()

    def drafts(tokens: list[int], schedule: str, draft: list[int]) -> tuple[list[int], list[int]]:
        """The next draft and the tokens known then."""
        request = tiny.request(gap, replace(options, schedule=schedule))
        request.session.advance(tokens)
        assert isinstance(request.decoder, Verified)
        request.decoder.draft = Draft(draft, [1.0] * len(draft))
        while not request.cost.forwards:
            tiny.step([request])
        return request.decoder.draft.tokens, request.session.tokens

    start = tiny.request(gap, options).session.tokens
    for length in range(12):
        tokens = start + list(expected.tokens[:length])
        wrong_at = length % 4
        stands = list(expected.tokens[length : length + 3])
        draft, known = drafts(tokens, "merged", [t if i != wrong_at else 0 for i, t in enumerate(stands)])
        runs.add(len(known) - len(tokens) - 1)
        assert draft == drafts(known[:-1], "split", [])[0]
    assert runs == {0, 1, 2, 3}, "acceptance must have stopped at every row"


def hidden(model: Model, clean: list[int], canvas: list[int], after: int) -> torch.Tensor:
    rows = Rows()
    rows.add_clean(clean, 0)
    rows.add_canvas(canvas, after=after)
    return model.forward([(model.new_cache(), rows)])


def test_nothing_leaks_backwards(tiny: Engine):
    """Invariant 3: a clean token changes nothing before it, and canvases change no clean row at all."""
    clean = [10, 20, 30, 40, 50, 60]
    base = hidden(tiny.model, clean, [MASK, MASK], after=2)
    for at in range(len(clean)):
        changed = hidden(tiny.model, [*clean[:at], 99, *clean[at + 1 :]], [MASK, MASK], after=2)
        assert torch.equal(changed[:at], base[:at])
        assert not torch.allclose(changed[at], base[at])
        sees = at <= 2
        assert torch.allclose(changed[6:], base[6:], atol=1e-6) is not sees, at
    other = hidden(tiny.model, clean, [77, MASK], after=2)
    assert torch.equal(other[:6], base[:6])
    assert not torch.allclose(other[7], base[7]), "a canvas sees itself in both directions"


def test_two_canvases_do_not_see_each_other(tiny: Engine):
    def states(second: int) -> torch.Tensor:
        rows = Rows()
        rows.add_clean([10, 20, 30], 0)
        rows.add_canvas([MASK, MASK], after=1)
        rows.add_canvas([second, MASK], after=2)
        return tiny.model.forward([(tiny.model.new_cache(), rows)])

    assert torch.equal(states(MASK)[:5], states(42)[:5])
    assert not torch.allclose(states(MASK)[6], states(42)[6])


def test_packed_sessions_equal_single_ones(tiny: Engine):
    options = [Options(max_tokens=10), Options(mode="diffusion", max_tokens=10), Options(mode="autoregressive")]
    together = {(g, v): fill.tokens for g, v, fill in tiny.fill_many(GAPS, options, width=4)}
    assert len(together) == len(GAPS) * len(options)
    for (g, v), tokens in together.items():
        assert tokens == tiny.fill(GAPS[g], options[v]).tokens, (g, v)


@pytest.mark.parametrize("mode", ["autoregressive", "verified", "diffusion"])
def test_every_gap_ends_with_a_reason(tiny: Engine, mode: str):
    """Invariant 7, engine side; and no special token's text in an answer."""
    for seed in range(8):
        for end in ("token", "line", "block", "body"):
            options = Options(mode=mode, end=end, temperature=1, seed=seed, max_tokens=20)
            fill = tiny.fill(GAPS[seed % len(GAPS)], options)
            assert fill.reason in ("end", "line", "block", "body", "length")
            assert all(token < 256 for token in fill.tokens)
            assert fill.cost.tokens == len(fill.tokens) + (fill.reason == "end")
