"""The design's invariants 1 to 3 where they are claimed, in float32, by the kernels and the captured steps."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from bench.gpu.setting import Sample, Setting
from bench.gpu.shapes import SHAPES
from dlsp_engine.decode.draft import Proposal
from dlsp_engine.decode.session import common
from dlsp_engine.engine import Engine
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.gpu.step import GpuQwen2
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.rows import MASK, Rows
from dlsp_engine.model.weights import Weights
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap
from dlsp_engine.text.tokenizer import ByteTokenizer, ModelTokenizer

TIE = 1e-4

GAPS = [
    Gap("def f(x):\n    return ", "\n\nprint(f(1))\n"),
    Gap("for name in na", "mes:\n    pass\n", middle="mes"),
    Gap("a = [1, 2, 3, 4]\nb = [1, 2, 3, ", "\n", middle="4]\nc = [1,"),
    Gap("def area(w, h):\n    ", "\n\nprint(area(2, 3))\n"),
]


def run(setting: Setting) -> Iterator[Sample]:
    shape = replace(SHAPES["tiny"], dim=32, head_dim=8, ff=48)
    weights, adapter = Weights.random(shape), Adapter.random(shape)
    plain = Engine(Qwen2(weights, adapter), ByteTokenizer())
    # The interpreter takes seconds a step: the rehearsal sees the kernels once.
    model = GpuQwen2(weights, adapter, setting.device, fused=not setting.rehearse, pages=400)
    yield from _all("tiny", plain, Engine(model, ByteTokenizer()), 24)
    if setting.rehearse:
        kernels = GpuQwen2(weights, adapter, setting.device, pages=60)
        engine = Engine(kernels, ByteTokenizer())
        got = engine.fill(Gap("", ""), Options(draft=1, copy=False, max_tokens=2)).tokens
        expected = plain.fill(Gap("", ""), Options(mode="autoregressive", max_tokens=2)).tokens
        yield {"name": "tiny, in the interpreter", "ok": got == expected and not kernels.failures}
    if not setting.rehearse:  # the references have no such order
        yield {"name": "bfloat16: a row has the same bits in every step of up to 32 rows", **bits(setting)}
    if setting.weights:
        real = setting.model("0.5b", torch.float32)
        tokenizer = ModelTokenizer(setting.weights)
        plain = Engine(Qwen2(Weights.load(setting.weights, torch.float32)), tokenizer)
        yield from _all("0.5b", plain, Engine(real, tokenizer), 24)
        yield corrupted(setting, tokenizer)


def _all(name: str, plain: Engine, engine: Engine, tokens: int) -> Iterator[Sample]:
    model = engine.model
    assert isinstance(model, GpuQwen2)
    for what, check in (
        ("verified is autoregressive", lambda: verified(plain, engine, tokens)),
        ("typing on is fresh", lambda: fresh(engine)),
        ("nothing leaks", lambda: leaks(model)),
    ):
        found = check()
        found["ok"] = found["ok"] and not model.failures
        yield {"name": f"{name}: {what}", **found, "replaced": model.failures, "graphs": len(model.graphs)}


def verified(plain: Engine, engine: Engine, tokens: int) -> Sample:
    """Against the reference step on the CPU, whatever was drafted, both schedules, alone and together."""
    rng, counts = random.Random(3), {"same": 0, "ties": 0, "different": 0}
    for gap in GAPS:
        common = {"max_tokens": tokens, "copy": False}
        expected = plain.fill(gap, Options(mode="autoregressive", **common))
        start = expected.cost.prompt_tokens
        drafters = {
            "canvas": None,
            "random": lambda known: ([rng.randrange(200) for _ in range(4)], [0.8] * 4),
            "right": lambda known, start=start, expected=expected: _right(expected.tokens[len(known) - start :][:4]),
        }
        for drafter in drafters.values():
            for options in (
                Options(mode="autoregressive", **common),
                Options(draft=3, **common),
                Options(draft=12, **common),  # too wide for one step: drafting and verifying in turn
            ):
                fill = engine.fill(gap, options, drafter=drafter)
                counts[_compare(plain, gap, expected.tokens, fill.tokens)] += 1
    together = {g: fill for g, _, fill in engine.fill_many(GAPS, [Options(max_tokens=tokens)], width=len(GAPS))}
    for number, fill in together.items():
        expected = plain.fill(GAPS[number], Options(mode="autoregressive", max_tokens=tokens))
        counts[_compare(plain, GAPS[number], expected.tokens, fill.tokens)] += 1
    return {"ok": counts["different"] == 0, **counts}


def _right(tokens: Sequence[int]) -> Proposal:
    return list(tokens), [0.8] * len(tokens)


def _compare(plain: Engine, gap: Gap, expected: tuple[int, ...], got: tuple[int, ...]) -> str:
    """`ties`: where they part, the two tokens are equally likely."""
    if expected == got:
        return "same"
    at = common(expected, got)
    if at == min(len(expected), len(got)):
        return "different"
    session = plain.prefilled(gap)
    rows = Rows()
    rows.add_clean([*session.pending, *expected[:at]], session.cache.length)
    logits = plain.model.head(plain.model.forward([(session.cache, rows)])[-1:])[0]
    return "ties" if abs(float(logits[expected[at]] - logits[got[at]])) < TIE else "different"


def fresh(engine: Engine) -> Sample:
    session, gap, wrong = engine.new_session(), GAPS[-1], []
    for middle in ("", "r", "return", "retu", "return w * h\n", "q"):
        now, options = Gap(gap.prefix, gap.suffix, middle), Options(max_tokens=8)
        if engine.fill(now, options, session).tokens != engine.fill(now, options).tokens:
            wrong.append(middle)
    return {"ok": not wrong, "wrong": wrong}


def leaks(model: GpuQwen2) -> Sample:
    """A clean token changes no row before it, and a canvas changes no clean row: to the bit."""

    def states(clean: list[int], canvas: list[int]) -> torch.Tensor:
        rows = Rows()
        rows.add_clean(clean, 0)
        rows.add_canvas(canvas, after=2)
        return model.forward([(model.new_cache(), rows)]).clone()

    clean = [10, 20, 30, 40, 50]
    base, wrong = states(clean, [MASK, MASK]), []
    for at in range(len(clean)):
        changed = states([*clean[:at], 99, *clean[at + 1 :]], [MASK, MASK])
        if not torch.equal(changed[:at], base[:at]) or torch.equal(changed[at], base[at]):
            wrong.append(f"clean {at}")
    other = states(clean, [77, MASK])
    if not torch.equal(other[:5], base[:5]) or torch.equal(other[6], base[6]):
        wrong.append("canvas")
    return {"ok": not wrong, "wrong": wrong}


def bits(setting: Setting) -> Sample:
    """Clean rows of steps with canvases and an alternative, beside the same rows in steps of their own."""
    model, wrong = setting.model("0.5b"), []
    prompt = setting.cache(model, setting.context)
    tokens = [11 + at for at in range(8)]

    def logits(rows: Rows) -> torch.Tensor:
        return model.head(model.forward([(cache, rows)]).clone())

    cache, alone = prompt.fork(prompt.length), []
    for token in tokens:
        rows = Rows()
        rows.add_clean([token], cache.length)
        alone.append(logits(rows)[0])
        cache.length += 1
    for clean, masks in ((2, 0), (4, 3), (8, 2)):
        cache, rows = prompt.fork(prompt.length), Rows()
        rows.add_clean([*tokens[: clean - 1], 1], cache.length)
        rows.add_alternative(tokens[clean - 1], cache.length + clean - 1, [MASK])
        for after in range(clean if masks else 0):
            rows.add_canvas([MASK] * masks, cache.length + after)
        found = logits(rows)
        right = [torch.equal(found[at], alone[at]) for at in range(clean - 1)]
        right.append(torch.equal(found[clean], alone[clean - 1]))
        wrong += [] if all(right) else [f"{len(rows)} rows: {right}"]
    return {"ok": not wrong and not model.failures, "wrong": wrong}


def corrupted(setting: Setting, tokenizer: ModelTokenizer) -> Sample:
    """An adapter of noise costs speed and changes no answer."""
    assert setting.weights
    weights = Weights.load(setting.weights, torch.float32)
    plain = Engine(Qwen2(weights), tokenizer)
    noise = GpuQwen2(weights, Adapter.random(weights.architecture, scale=3.0), setting.device, pages=400)
    return {"name": "0.5b: a corrupted adapter changes nothing", **verified(plain, Engine(noise, tokenizer), 16)}
