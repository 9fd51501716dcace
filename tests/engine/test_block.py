"""The decoder for checkpoints that see text in blocks, step by step against the published description: a full forward
for every step, without a cache.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from dlsp_engine.decode import block as decoder
from dlsp_engine.decode.block import Block
from dlsp_engine.decode.scores import Scores
from dlsp_engine.engine import Engine
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.convention import BLOCK, Convention
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.rows import MASK
from dlsp_engine.model.weights import Weights
from dlsp_engine.options import TEXT_END, Options
from dlsp_engine.request import GapRequest
from dlsp_engine.text.prompt import Gap, Prompt
from dlsp_engine.text.tokenizer import ByteTokenizer
from tests.engine import full_forward

MASK_ID = 258
STOPS = ByteTokenizer.stops
SHAPE = Architecture(layers=2, dim=32, heads=4, kv_heads=2, head_dim=8, ff=48, vocab=262, theta=1e4, eps=1e-6)
PLAIN = Convention(BLOCK, shifted=False, mask=MASK_ID, block=4)  # SDAR, Stable-DiffCoder, LLaDA2.0
SHIFTED = Convention(BLOCK, shifted=True, mask=MASK_ID, block=8, sub_block=4)  # Fast-dLLM v2
EDITING = Convention(BLOCK, shifted=False, mask=MASK_ID, block=8, edit=0.05)  # LLaDA2.1
RULES = [("threshold", 0.05), ("threshold", 0.9), ("factor", 2.85), ("entropy", 12.0)]
PROMPTS = [1, 4, 7, 16]  # tokens: within a block, at its end, beyond it

pytestmark = pytest.mark.usefixtures("one_thread")


def model(convention: Convention, layers: int = 2) -> Engine:
    return Engine(Qwen2(Weights.random(replace(SHAPE, layers=layers, convention=convention))), ByteTokenizer())


def some(tokens: int, seed: int = 0) -> list[int]:
    return torch.randint(256, (tokens,), generator=torch.Generator().manual_seed(seed)).tolist()


def request(engine: Engine, prompt: list[int], **options: object) -> GapRequest:
    chosen = Options(mode="diffusion", end=TEXT_END, **options)  # pyright: ignore[reportArgumentType]
    return engine.request(Gap("", ""), chosen, opening=Prompt(prompt, b""))


def reference(weights: Weights, tokens: list[int], rule: str, value: float) -> Iterator[list[int]]:
    """The whole text after each step, with MASK_ID where it is open, without end."""
    convention = weights.architecture.convention
    size, text = convention.block, list(tokens)

    def forward() -> torch.Tensor:
        blocks = torch.arange(len(text)) // size
        found = full_forward.logits(weights, text, blocks[:, None] >= blocks[None])
        found[:, MASK_ID] = -torch.inf
        return found

    while True:
        if convention.shifted and len(text) % size == 0:  # the first token of a block comes from the block before it
            text.append(int(forward()[-1].argmax()))
            yield list(text)
        start = len(text) // size * size
        text += [MASK_ID] * (start + size - len(text))
        answer = max(start, len(tokens))  # what the prompt has of the block is never changed
        edits, complete = 0, False  # complete: nothing is open that an answer needs
        while True:
            edits = edits + 1 if complete else 0
            every = forward()
            if convention.shifted:
                every = torch.cat([every[:1], every[:-1]])
            p = every.softmax(-1)
            masked = [at for at in range(start, len(text)) if text[at] == MASK_ID]
            changes: dict[int, int] = {}
            if convention.edit is not None:
                for at in range(answer, len(text)):
                    best = int(p[at].argmax())
                    if at not in masked and best != text[at] and best not in STOPS and p[at, best] > convention.edit:
                        changes[at] = best
            if masked and not complete:
                run = convention.sub_block or size
                active = [at for at in masked if at // run == masked[0] // run]
                ends = [at for at in active if int(p[at].argmax()) in STOPS]
                if ends:  # only behind placed tokens
                    active = [at for at in active if at < ends[0]] or active[:1]
                entropy = {at: float(torch.special.entr(p[at]).sum()) for at in active}
                for at in full_forward.accepted({at: float(p[at].max()) for at in active}, entropy, rule, value):
                    text[at] = int(p[at].argmax())
            for at, token in changes.items():
                text[at] = token
            yield list(text)
            was_complete, opened = complete, [*text, MASK_ID].index(MASK_ID)
            complete = opened == len(text) or any(token in STOPS for token in text[answer:opened])
            if complete and (convention.edit is None or (was_complete and not changes) or edits == 16):
                break


def shown(one: GapRequest) -> list[int]:
    slots = [MASK_ID if token == MASK else token for token in one.decoder.canvas]
    return [*one.session.tokens, *slots]


def compare(convention: Convention, prompt: list[int], rule: str, value: float, tokens: int = 30) -> GapRequest:
    engine = model(convention)
    assert isinstance(engine.model, Qwen2)
    one = request(engine, prompt, rule=rule, threshold=value, max_tokens=tokens)
    assert isinstance(one.decoder, Block)
    for expected in reference(engine.model.weights, prompt, rule, value):
        engine.step([one])
        if one.done:
            break
        known = shown(one)
        # The slots of the next block are opened in the step that fills one.
        assert known[: len(expected)] == expected
        assert set(known[len(expected) :]) <= {MASK_ID}
    assert one.answer.reason in ("end", "length")
    return one


@pytest.mark.parametrize("tokens", PROMPTS)
@pytest.mark.parametrize(("rule", "value"), RULES)
@pytest.mark.parametrize("convention", [PLAIN, SHIFTED, EDITING], ids=["plain", "shifted", "editing"])
def test_each_step_is_the_published_one(convention: Convention, rule: str, value: float, tokens: int):
    one = compare(convention, some(tokens, seed=tokens), rule, value)
    if value != 0.9 and convention.edit is None and one.answer.reason == "length":
        assert one.cost.tau > 1.1, "several tokens were accepted at once"


def test_edits_change_tokens_that_were_placed():
    engine = model(EDITING)
    one = request(engine, some(5), threshold=0.05, max_tokens=24)
    changed, before = 0, shown(one)
    while not one.done:
        engine.step([one])
        known = shown(one)
        changed += sum(old not in (MASK_ID, new) for old, new in zip(before, known, strict=False))
        before = known
    assert changed > 0


def test_edits_end_after_so_many_steps(monkeypatch: pytest.MonkeyPatch):
    """Two tokens may replace each other for ever."""
    monkeypatch.setattr(decoder, "MAX_EDIT_STEPS", 2)
    engine = model(replace(EDITING, edit=0.0))
    one = request(engine, some(5), threshold=0.0, max_tokens=19)
    while not one.done:
        engine.step([one])
    assert one.cost.forwards <= 4 * 3, "one to fill each block, and two to edit it"


@pytest.mark.parametrize("convention", [PLAIN, SHIFTED, EDITING], ids=["plain", "shifted", "editing"])
def test_a_session_advanced_by_typing_equals_a_fresh_one(convention: Convention):
    engine, text = model(convention), some(40)
    session = engine.new_session()
    options = Options(mode="diffusion", end=TEXT_END, threshold=0.1, max_tokens=12)
    cached = 0
    for typed in (30, 31, 33, 40, 21):
        kept = engine.request(Gap("", ""), options, session, opening=Prompt(text[:typed], b""))
        fresh = request(engine, text[:typed], threshold=0.1, max_tokens=12)
        for one in (kept, fresh):
            while not one.done:
                engine.step([one])
        assert kept.answer.tokens == fresh.answer.tokens
        cached += kept.cost.cached_tokens
    assert cached > 60


def test_requests_in_one_step_do_not_change_each_other():
    engine = model(PLAIN)
    prompts = [some(n, seed=n) for n in (3, 9, 20)]
    alone = []
    for prompt in prompts:
        one = request(engine, prompt, threshold=0.1, max_tokens=12)
        while not one.done:
            engine.step([one])
        alone.append(one.answer.tokens)
    together = [request(engine, prompt, threshold=0.1, max_tokens=12) for prompt in prompts]
    while not all(one.done for one in together):
        engine.step([one for one in together if not one.done])
    assert [one.answer.tokens for one in together] == alone


def scripted(choices: dict[int, int], slots: int, sure: float = 9.0) -> torch.Tensor:
    """Logits of `slots` rows: each row chooses the token given for it, or 65."""
    found = torch.zeros(slots, 262)
    for at in range(slots):
        found[at, choices.get(at, 65)] = sure
    return found


def test_an_end_waits_for_what_is_left_of_it():
    one = request(model(PLAIN), some(4), threshold=0.5)
    one.decoder.plan(1)
    end = ByteTokenizer.end
    logits = scripted({2: end, 3: end}, 4)
    logits[1] = 0
    logits[1, 66] = 1  # unsure
    one.decoder.take(Scores(logits))
    assert one.decoder.canvas == [MASK, MASK, MASK], "the first was sure, and what is behind the open one waits"
    one.decoder.take(Scores(scripted({0: 66, 1: end}, 3)))
    assert not one.done, "the slot left of it was open until this step"
    one.decoder.take(Scores(scripted({0: end}, 2)))
    assert (one.answer.reason, one.answer.tokens) == ("end", [65, 66])


def test_healing_begins_with_what_is_written():
    engine = model(PLAIN)
    for written in ("x = retur", "naïv", "    "):
        fill = engine.fill(Gap(written, "\n"), Options(mode="diffusion", threshold=0.1, max_tokens=9))
        assert fill.tokens[0] == ord(written[-1]), "the last token before the cursor is generated again"
        assert len(fill.tokens) > 1
