"""Sites judged together are what plain forwards and plain decoding say of each alone."""

import random
from dataclasses import replace

import pytest
import torch

from dlsp_engine.engine import Engine
from dlsp_engine.model.rows import Rows
from dlsp_engine.options import Options
from dlsp_engine.site import Judgement, Likelihood, Site, SiteRequest
from dlsp_engine.text.prompt import File, Gap, opening
from dlsp_engine.text.tokenizer import ByteTokenizer
from tests.engine.test_shared_steps import Counted

FILES = (File("b.py", "from a import area\n" * 8),)
EDIT = (File("edit.diff", "-def area(w, h):\n+def size(w, h):\n"),)


def site(text: str, *candidates: str, prefix: str = "x = 1\n", suffix: str = "\ny = 2\n", propose: bool = True) -> Site:
    shown, hidden = (Gap(prefix, suffix, path="c.py", files=files) for files in (FILES + EDIT, FILES))
    return Site(shown, hidden, text, candidates, propose)


def judged(engine: Engine, sites: list[Site], options: Options) -> list[Judgement]:
    requests = [engine.site_request(each, options) for each in sites]
    while running := [request for request in requests if not request.done]:
        engine.step(running)
    return [request.outcome() for request in requests]


def plainly(engine: Engine, gap: Gap, text: str) -> float:
    """log p of the text and the end behind it, from one forward over all of it."""
    prompt, cut = opening(gap, engine.tokenizer)
    tokens, rows = [*prompt, *engine.tokenizer.encode(cut + text)], Rows()
    rows.add_clean(tokens, 0)
    log_p = engine.model.head(engine.model.forward([(engine.model.new_cache(), rows)])).log_softmax(-1)
    told = sum(float(log_p[at - 1, tokens[at]]) for at in range(len(prompt), len(tokens)))
    return told + float(log_p[-1, sorted(engine.tokenizer.stops)].logsumexp(-1))


def close(likely: Likelihood, engine: Engine, site: Site, text: str) -> None:
    assert likely.given == pytest.approx(plainly(engine, site.gap, text), abs=1e-3)
    if likely.without is not None:
        assert likely.without == pytest.approx(plainly(engine, site.without, text), abs=1e-3)


def test_a_text_is_read_with_the_end_of_its_prompt(tiny: Engine):
    gap, steps = Gap("x = 1\n", "\n", path="c.py"), 0
    request = tiny.site_request(Site(gap, gap, "area(1, 2)", propose=False), Options())
    while not request.done:
        tiny.step([request])
        steps += 1
    assert steps == 1
    close(request.outcome().text, tiny, request.site, "area(1, 2)")


@pytest.mark.parametrize("mode", ["verified", "autoregressive"])
def test_likelihoods_and_proposals_are_the_plain_ones(tiny: Engine, mode: str):
    options = Options(mode=mode, max_tokens=10)
    sites = [
        site("area(1, 2)", "size(1, 2)", "size(1, 2"),
        site("area(1, 2)", "area(1, 2)"),
        site("", "pass", prefix=""),
        site("ea(1)", "ea(2)", prefix="x = ar"),  # cuts a word
        site("    return 1" * 20, prefix="def f():\n    "),
        site("é = '日本'", "é = '日'", propose=False),
    ]
    judgements = judged(tiny, sites, options)
    assert judgements[-1].text.without is None, "the model's own text was not asked for"
    for each, told in zip(sites, judgements, strict=True):
        close(told.text, tiny, each, each.text)
        assert len(told.candidates) == len(each.candidates)
        for text, likely in zip(each.candidates, told.candidates, strict=True):
            close(likely, tiny, each, text)
        assert (told.proposal is not None) == each.propose
        if told.proposal:
            fill, likely = told.proposal
            expected = tiny.fill(each.gap, replace(options, mode="autoregressive"))
            assert (fill.tokens, fill.text, fill.reason) == (expected.tokens, expected.text, expected.reason)
            assert torch.tensor(fill.confidence).allclose(torch.tensor(expected.confidence), atol=1e-4)
            close(likely, tiny, each, fill.text)
            assert likely.without is not None


class Latin(ByteTokenizer):
    """One token a character of Latin-1, so that whatever the model writes is read back as the same tokens."""

    def encode(self, text: str) -> list[int]:
        return [ord(character) for character in text]

    def token_bytes(self, token: int) -> bytes:
        return chr(token).encode() if token < 256 else b""


@pytest.fixture
def latin(tiny: Engine) -> Engine:
    return Engine(tiny.model, Latin())


def standing(engine: Engine) -> tuple[Site, int]:
    """A site whose present text is the model's own answer, and that answer's number of tokens."""
    rng = random.Random(1)
    for _ in range(30):
        gap = Gap("".join(rng.choices("abcdefgh;", k=9)) + ";", "")
        fill = engine.fill(gap, Options(mode="autoregressive", max_tokens=8))
        if len(set(fill.tokens)) >= 4:
            return Site(gap, gap, fill.text), len(fill.tokens)
    raise AssertionError("every answer is too short")


def test_a_text_that_stands_costs_one_step_and_is_not_read_without_the_edit(latin: Engine):
    each, tokens = standing(latin)
    told = judged(latin, [each], Options(max_tokens=tokens))[0]
    assert told.proposal
    assert told.proposal[0].text == each.text
    assert (told.cost.forwards, told.cost.rows) == (1, tokens + 1)
    assert told.text.without is None


def test_where_the_edit_changes_a_few_tokens_the_rest_is_drafted(latin: Engine):
    """The present text is the answer but for its first tokens: it is resumed behind them."""
    each, tokens = standing(latin)
    answer = latin.tokenizer.encode(each.text)
    other = replace(each, text="?" + latin.tokenizer.decode(answer[1:]))
    told = judged(latin, [other], Options(mode="verified", copy=False, draft=0, max_tokens=tokens))[0]
    assert told.proposal
    assert told.proposal[0].text == each.text
    plain = judged(latin, [other], Options(mode="autoregressive", max_tokens=tokens))[0]
    assert told.cost.forwards < plain.cost.forwards


def test_eight_sites_share_their_prefix_and_their_steps(tiny: Engine):
    sites = [site(f"area({n}, 2)", f"size({n}, 2)", prefix=f"x = {n}\n") for n in range(8)]
    options = Options(max_tokens=8)
    alone, together = (Counted(tiny.model, tiny.tokenizer) for _ in range(2))
    expected = [judged(alone, [each], options)[0] for each in sites]
    told = judged(together, sites, options)
    for one, other in zip(expected, told, strict=True):
        assert other.text.given == pytest.approx(one.text.given, abs=1e-3)
        assert (one.proposal and one.proposal[0].tokens) == (other.proposal and other.proposal[0].tokens)
    assert together.rows < 0.4 * alone.rows


@pytest.mark.parametrize("seed", range(6))
def test_sites_come_and_go_among_gaps(tiny: Engine, seed: int):
    rng = random.Random(seed)
    engine = Counted(tiny.model, tiny.tokenizer)
    options = Options(max_tokens=6, end="line")
    sites = [site(rng.choice(["area(1)", "", "x"]), *rng.choice([[], ["size(1)"]]), prefix="a\n" * n) for n in range(8)]
    gaps = [Gap("y = 1\n" * n, "\n", path="c.py", files=rng.choice([(), FILES])) for n in range(8)]
    waiting = [*sites, *gaps]
    rng.shuffle(waiting)
    running, ended = {}, {}
    while waiting or running:
        if waiting and (not running or rng.random() < 0.3):
            asked = waiting.pop()
            running[
                engine.site_request(asked, options) if isinstance(asked, Site) else engine.request(asked, options)
            ] = asked
        for request in engine.step(rng.sample(list(running), len(running))):
            if request.done:
                ended[request] = running.pop(request)
        if running and rng.random() < 0.02:
            del running[rng.choice(list(running))]
    assert any(isinstance(request, SiteRequest) for request in ended)
    for request, asked in ended.items():
        told = request.outcome()
        if isinstance(asked, Site):
            close(told.text, tiny, asked, asked.text)
            asked, told = asked.gap, told.proposal[0]
        assert told.tokens == tiny.fill(asked, replace(options, mode="autoregressive")).tokens


def test_a_text_longer_than_a_step_is_read_in_parts(tiny: Engine):
    each = site("x = 1\n" * 60, "x = 1\n" * 60 + "y", propose=False)
    told = judged(Counted(tiny.model, tiny.tokenizer), [each], Options())[0]
    close(told.text, tiny, each, each.text)
    close(told.candidates[0], tiny, each, each.candidates[0])
    assert told.cost.rows < 2 * (360 + 20), "what a candidate begins with like the text is read once"


@pytest.mark.model
def test_the_real_model_says_the_same_in_a_batch(real: Engine):
    """Invariant 1 in a batch, in float32: answers, proposals and likelihoods, with prompts that begin alike."""
    options = Options(max_tokens=6, end="line")
    calls = [site(f"total = area({n}, 2)", f"total = size({n}, 2)", prefix=f"w = {n}\n") for n in range(2)]
    gaps = [Gap(f"def twice_{n}(x):\n    ret", "\n", path="c.py", files=FILES) for n in range(2)]
    weighed = {real.site_request(each, options): each for each in calls}
    filled = {real.request(each, options): each for each in gaps}
    while running := [request for request in (*weighed, *filled) if not request.done]:
        real.step(running)
    assert sum(request.cost.cached_tokens for request in (*weighed, *filled)) > 3 * 30, "the files are prefilled once"
    answers = [(request.outcome(), gap) for request, gap in filled.items()]
    for request, each in weighed.items():
        told = request.outcome()
        close(told.text, real, each, each.text)
        close(told.candidates[0], real, each, each.candidates[0])
        assert told.proposal
        answers.append((told.proposal[0], each.gap))
    for fill, gap in answers:
        assert fill.tokens == real.fill(gap, replace(options, mode="autoregressive")).tokens
