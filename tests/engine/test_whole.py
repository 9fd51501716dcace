"""The decoder for checkpoints that see the whole text, step by step against the published description: a full forward
for every step. And the tokens for expand and delete, and the search for a gap's length, on scripted logits.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from dlsp_engine.decode.diffusion import REMASK_FLOOR
from dlsp_engine.decode.scores import Scores
from dlsp_engine.decode.whole import Whole, usual_confidence
from dlsp_engine.engine import Engine
from dlsp_engine.model.convention import WHOLE, Convention
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.rows import MASK
from dlsp_engine.model.weights import Weights
from dlsp_engine.options import TEXT_END, Options
from dlsp_engine.request import GapRequest
from dlsp_engine.text.prompt import Gap, Prompt
from tests.engine import full_forward
from tests.engine.test_block import MASK_ID, STOPS, model, scripted, shown, some

SHIFTED = Convention(WHOLE, shifted=True, mask=MASK_ID)  # Open-dCoder, Dream-Coder, DiffuCoder
UNSHIFTED = Convention(WHOLE, shifted=False, mask=MASK_ID)  # LLaDA
EXPAND, DELETE = 202, 159  # tokens that the random model likes
RESIZING = replace(SHIFTED, expand=EXPAND, delete=DELETE)  # DreamOn
SLOTS, MOST = 8, 14

pytestmark = pytest.mark.usefixtures("one_thread")


def request(engine: Engine, prompt: list[int], behind: list[int], **options: object) -> GapRequest:
    given = {"canvas": SLOTS, "max_tokens": MOST} | options
    chosen = Options(mode="diffusion", end=TEXT_END, **given)  # pyright: ignore[reportArgumentType]
    return engine.request(Gap("", ""), chosen, opening=Prompt(prompt, b"", tuple(behind)))


def every_slot(weights: Weights, before: list[int], slots: list[int], behind: list[int]) -> torch.Tensor:
    """The logits of the slots' own tokens."""
    text = [*before, *slots, *behind]
    every = full_forward.logits(weights, text, torch.ones(len(text), len(text), dtype=torch.bool))
    if weights.architecture.convention.shifted:
        every = torch.cat([every[:1], every[:-1]])
    return every[len(before) : len(before) + len(slots)]


def confidence(weights: Weights, before: list[int], length: int, behind: list[int]) -> float:
    """CAL's calibrated one of so many open slots."""
    p = every_slot(weights, before, [MASK_ID] * length, behind).softmax(-1)
    bias = 1.00 * math.exp(-1.77 * length) + 0.56 * math.exp(-0.06 * length) + 0.24
    return float(p.max(-1).values.mean()) / bias


def reference_lengths(weights: Weights, before: list[int], behind: list[int]) -> list[int]:
    """The lengths that CAL tries, in order, and the one that it settles on."""
    tried = [SLOTS]
    known = {SLOTS: confidence(weights, before, SLOTS, behind)}
    for step in (1, -1):
        length, decreases = SLOTS + step, 0
        while 1 <= length <= MOST and decreases < 4:
            best = max(known.values())
            known[length] = confidence(weights, before, length, behind)
            tried.append(length)
            decreases = 0 if known[length] > best else decreases + 1
            length += step
    return [*tried, max(known, key=lambda each: known[each])]


def reference(weights: Weights, before: list[int], behind: list[int], rule: str, value: float) -> Iterator[list[int]]:
    """The text and its slots after each step, with MASK_ID where a slot is open, until none is or an end is placed."""
    convention, start = weights.architecture.convention, SLOTS
    if convention.expand is None:
        for start in reference_lengths(weights, before, behind)[1:]:
            yield [*before, *[MASK_ID] * start]
    slots, settled, room = [(MASK_ID, False)] * start, 0, MOST - SLOTS  # (token, whether it was masked again)
    while True:
        every = every_slot(weights, before, [token for token, _ in slots], behind)
        every[:, [MASK_ID] if room else [token for token in (MASK_ID, convention.expand) if token]] = -torch.inf
        p = every.softmax(-1)
        for at in range(settled, len(slots)):
            token, again = slots[at]
            if token != MASK_ID and not again and p[at, token] < REMASK_FLOOR:
                slots[at] = MASK_ID, True
        best = p.argmax(-1).tolist()
        masked = [at for at, (token, _) in enumerate(slots) if token == MASK_ID]
        ends = [at for at in masked if best[at] in STOPS]
        if ends:
            masked = [at for at in masked if at < ends[0]] or masked[:1]
        entropy = {at: float(torch.special.entr(p[at]).sum()) for at in masked}
        for at in full_forward.accepted({at: float(p[at].max()) for at in masked}, entropy, rule, value):
            slots[at] = best[at], slots[at][1]
        resized: list[tuple[int, bool]] = []
        for token, again in slots:
            if token == convention.expand:
                resized += [(MASK_ID, False)] * (2 if room else 1)
                room -= 1 if room else 0
            elif token != convention.delete:
                resized.append((token, again))
        slots = resized
        yield [*before, *(token for token, _ in slots)]
        settled = [*(token for token, _ in slots), MASK_ID].index(MASK_ID)
        if settled == len(slots) or any(token in STOPS for token, _ in slots[:settled]):
            return


@pytest.mark.parametrize("sizes", [(1, 0), (9, 5)])
@pytest.mark.parametrize(("rule", "value"), [("threshold", 0.05), ("threshold", 0.9), ("entropy", 12.0)])
@pytest.mark.parametrize("convention", [SHIFTED, UNSHIFTED, RESIZING], ids=["shifted", "unshifted", "resizing"])
def test_each_step_is_the_published_one(convention: Convention, rule: str, value: float, sizes: tuple[int, int]):
    engine, before, behind = model(convention), some(sizes[0], seed=1), some(sizes[1], seed=2)
    assert isinstance(engine.model, Qwen2)
    one = request(engine, before, behind, rule=rule, threshold=value)
    assert isinstance(one.decoder, Whole)
    lengths: set[int] = set()
    for expected in reference(engine.model.weights, before, behind, rule, value):
        engine.step([one])
        if one.done:
            assert one.session.tokens == [token for token in expected if token not in STOPS]
            break
        assert shown(one) == expected
        lengths.add(len(expected))
    assert one.done
    assert one.session.cache.length == 0, "nothing of it stays the same"
    if convention is RESIZING and value != 0.05:
        assert len(lengths) > 1


@pytest.mark.parametrize("convention", [SHIFTED, UNSHIFTED, RESIZING], ids=["shifted", "unshifted", "resizing"])
def test_an_approximate_cache_is_exact_for_one_layer(convention: Convention):
    """There keys and values follow from a position's own token. The text before the gap is run once."""
    engine = model(convention, layers=1)
    exact, cached = (
        request(engine, some(9, seed=1), some(5, seed=2), threshold=0.05, approximate_cache=on) for on in (False, True)
    )
    saved = 0
    while not exact.done:
        saved += len(exact.decoder.plan(1)) - len(cached.decoder.plan(1))
        for one in (exact, cached):
            engine.step([one])
        assert shown(cached) == shown(exact)
    assert (cached.done, cached.answer.tokens) == (True, exact.answer.tokens)
    assert saved % 8 == 0, "all of the text before but its last token, in each step but the first ones"
    assert saved > 0
    following = engine.request(
        Gap("", ""), Options(mode="diffusion"), cached.session, opening=Prompt(some(9, seed=1), b"")
    )
    assert following.session.cache.length == 0, "no other answer sees what is approximate"


def test_a_slot_becomes_two_or_none():
    one = request(model(RESIZING), some(3), [], canvas=4, max_tokens=6, threshold=0.5)
    one.decoder.plan(1)
    logits = scripted({1: EXPAND, 2: DELETE, 3: 66}, 4)
    logits[0] = 0  # unsure
    one.decoder.take(Scores(logits))
    assert one.decoder.canvas == [MASK, MASK, MASK, 66]
    one.decoder.take(Scores(scripted({0: DELETE, 1: 67, 2: EXPAND, 3: 66}, 4)))
    assert one.answer.tokens == [67]
    assert one.decoder.canvas == [MASK, MASK, 66]
    logits = scripted({0: EXPAND, 2: 66}, 3)
    logits[0, 68], logits[1, 69] = 8, 10  # second to expand, of which there is no room for more
    one.decoder.take(Scores(logits))
    assert one.answer.tokens == [67, 68, 69, 66]
    assert one.answer.reason == "end", "all slots are committed"


def test_expanding_and_deleting_for_ever_ends():
    one = request(model(RESIZING), some(3), [], canvas=1, max_tokens=5, threshold=0.5)
    steps = 0
    while not one.done:
        slots = len(one.decoder.canvas)
        one.decoder.take(Scores(scripted({0: EXPAND if slots == 1 else DELETE} | {1: 65}, slots)))
        steps += 1
        assert steps < 20
    assert len(one.answer.tokens) <= 5


def test_deleting_all_ends_the_answer():
    one = request(model(RESIZING), some(3), some(4), canvas=3, threshold=0.5)
    one.decoder.take(Scores(scripted({0: DELETE, 1: DELETE, 2: DELETE}, 3)))
    assert (one.answer.reason, one.answer.text) == ("end", "")


def settle(one: GapRequest, length: int) -> list[int]:
    """End the search for the length at `length`: the farther from it, the less sure the model is, beside what is usual.
    The lengths that were tried.
    """
    tried: list[int] = []
    assert isinstance(one.decoder, Whole)
    while one.decoder.searching:
        slots = len(one.decoder.canvas)
        tried.append(slots)
        assert one.decoder.canvas == [MASK] * slots
        p = 0.9 * usual_confidence(slots) / (1 + abs(slots - length))
        one.decoder.take(Scores(scripted({}, slots, sure=math.log(261 * p / (1 - p)))))
    assert one.decoder.canvas == [MASK] * length
    return tried


def test_the_length_is_searched_up_and_down_from_the_start():
    def tried(start: int, most: int, length: int) -> list[int]:
        return settle(request(model(SHIFTED), some(3), some(4), canvas=start, max_tokens=most), length)

    assert tried(8, 64, 8) == [8, 9, 10, 11, 12, 7, 6, 5, 4], "four in a row that are no better, on each side"
    assert tried(8, 64, 11) == [8, 9, 10, 11, 12, 13, 14, 15, 7, 6, 5, 4]
    assert tried(8, 64, 4) == [8, 9, 10, 11, 12, 7, 6, 5, 4, 3, 2, 1]
    assert tried(4, 6, 1) == [4, 5, 6, 3, 2, 1], "as many as there may be tokens"


def test_a_checkpoint_that_expands_does_not_search():
    decoder = request(model(RESIZING), some(3), [], canvas=3).decoder
    assert isinstance(decoder, Whole)
    assert not decoder.searching


def test_a_placed_token_is_masked_again_once():
    one = request(model(SHIFTED), some(3), [], canvas=3, threshold=0.5)
    settle(one, 3)
    unsure = torch.zeros(262)
    steps = [
        ({1: 66}, [0, 2], [MASK, 66, MASK]),
        ({2: 70}, [0, 1], [MASK, MASK, 70]),  # 66 has become unlikely
        ({1: 71, 2: 70}, [0], [MASK, 71, 70]),
    ]
    for choices, unsure_slots, expected in steps:
        logits = scripted(choices, 3)
        logits[unsure_slots] = unsure
        one.decoder.take(Scores(logits))
        assert one.decoder.canvas == expected
    logits = scripted({0: 65, 2: 70}, 3)
    logits[1] = unsure
    one.decoder.take(Scores(logits))
    assert one.answer.tokens == [65, 71, 70], "the second slot was masked again before"


def test_an_answer_goes_on_where_it_may_not_end():
    """An open bracket: a slot more is opened."""
    engine = model(SHIFTED)
    one = engine.request(Gap("x = ", "\n"), Options(mode="diffusion", canvas=2, threshold=2, max_tokens=9))
    settle(one, 2)
    start = len(one.session.tokens)
    while one.answer.constraint:  # the blank before the cursor is written again
        one.decoder.take(Scores(scripted({0: ord(" ")}, len(one.decoder.canvas))))
    one.decoder.take(Scores(scripted({0: ord("(")}, len(one.decoder.canvas))))
    assert not one.done
    assert one.decoder.canvas == [MASK]
    one.decoder.take(Scores(scripted({0: ord(")")}, 1)))
    assert (one.answer.reason, one.answer.text) == ("end", "()")
    assert len(one.session.tokens) == start + 3


def test_the_model_sees_both_sides_of_a_gap():
    engine = model(replace(UNSHIFTED, end=261))
    opening = engine.prompt(Gap("a = ", "\nb = 2", path="x.py"))
    assert opening.tokens == list(b"a =")
    assert (opening.forced, opening.behind) == (b" ", (*b"\nb = 2", 261))
    rows = engine.request(Gap("a = ", "\nb = 2"), Options(mode="diffusion", canvas=2)).decoder.plan(1)
    assert rows.tokens == [*b"a =", MASK_ID, MASK_ID, *b"\nb = 2", 261]
    assert set(rows.visible) == {len(rows)}
    assert rows.scored == [3, 4]
