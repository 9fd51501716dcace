"""The step of a GPU on a tiny random model: by its references, and in part by its kernels in Triton's interpreter."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dlsp_engine import Gap, Options
from dlsp_engine.backend import RowsStep, forward
from dlsp_engine.decode.budget import Costs
from dlsp_engine.engine import Engine
from dlsp_engine.errors import EngineError
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.gpu import device as devices
from dlsp_engine.model.gpu.buffers import LONG_CONTEXT, ROW_COUNTS, BatchShape, shapes
from dlsp_engine.model.gpu.graphs import Graphs, Result
from dlsp_engine.model.gpu.pool import MAX_SESSION_PAGES, PagedCache, Pool
from dlsp_engine.model.gpu.step import GpuQwen2
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.rows import MASK, Rows
from dlsp_engine.model.weights import Weights
from dlsp_engine.options import MAX_CONTEXT_TOKENS
from dlsp_engine.text.tokenizer import ByteTokenizer
from dlsp_kernels.packed_rows import PAGE
from tests.engine.test_invariants import GAPS, drafters

pytestmark = pytest.mark.usefixtures("one_thread")

SHAPE = Architecture(layers=2, dim=32, heads=4, kv_heads=2, head_dim=8, ff=48, vocab=262, theta=1e4, eps=1e-6)


class Replayed(Graphs):
    """What a captured step is on a GPU: the launches of the first call, which read and write where that one did."""

    def __init__(self) -> None:
        super().__init__(wanted=True, slow_calls=lambda: 0)

    def prepare(self, key: Hashable, step: Callable[[], Result]) -> None:
        if not self.ready(key):
            self._captured[key] = (step, step())

    def __call__(self, key: Hashable, step: Callable[[], Result]) -> Result:
        self.prepare(key, step)
        first, result = self._captured[key]
        return tuple(kept.copy_(found) for kept, found in zip(result, first(), strict=True))


def gpu(fused: bool = False, format: str = "dense") -> GpuQwen2:
    model = GpuQwen2(Weights.random(SHAPE), Adapter.random(SHAPE), "cpu", fused, format, pages=400)
    if not fused:  # the interpreter would take seconds more
        model.graphs = Replayed()
    return model


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(gpu(), ByteTokenizer())


@pytest.fixture(scope="module")
def kernels() -> GpuQwen2:
    return gpu(fused=True)


def batches() -> Iterator[list[Rows]]:
    """Steps of two sessions, one after the other: prefill, then rows of every kind."""
    first, second = Rows(), Rows()
    first.add_clean([5, 6, 7, 8], 0)
    second.add_clean([9], 0)
    yield [first, second]
    first, second = Rows(), Rows()
    first.add_clean([1, 2], 4)
    first.add_canvas([MASK, 3], after=4)
    first.add_canvas([MASK, MASK], after=5)
    first.add_alternative(7, 5, [MASK, MASK])
    first.add_alternative(8, 5, [])
    second.add_clean([4], 1)
    yield [first, second]


@pytest.mark.parametrize("fused", [False, True])
def test_a_step_is_the_reference_step(fused: bool, kernels: GpuQwen2):
    model, reference = kernels if fused else gpu(), Qwen2(Weights.random(SHAPE), Adapter.random(SHAPE))
    ours, theirs = ([m.new_cache() for _ in range(2)] for m in (model, reference))
    for batch in batches():
        logits = model.head(model.forward(list(zip(ours, batch, strict=True))))
        expected = reference.head(reference.forward(list(zip(theirs, batch, strict=True))))
        torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)
        for cache, rows in zip([*ours, *theirs], [*batch, *batch], strict=True):
            cache.length += rows.canvas.count(0)
    assert model.failures == {}


def test_a_wide_step_is_the_reference_step():
    """By the kernels: wider than a tile of rows."""
    shape, clean = replace(SHAPE, layers=1), Rows()
    clean.add_clean([at % 250 for at in range(257)], 0)
    weights, adapter = Weights.random(shape), Adapter.random(shape)
    models = (GpuQwen2(weights, adapter, "cpu"), Qwen2(weights, adapter))
    found, expected = (model.head(model.forward([(model.new_cache(), clean)])[-9:]) for model in models)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("every", [True, False])
def test_the_scores_of_one_graph_are_those_of_head_and_summary_behind_one(every: bool):
    """Of all rows, or of those that are asked for."""
    model = gpu()
    backend, caches = model.backend(Costs()), [model.new_cache() for _ in range(2)]
    for batch in batches():
        for rows in batch:
            rows.scored = list(range(len(rows))) if every else rows.scored or [len(rows) - 1]
        steps = [RowsStep(cache, rows) for cache, rows in zip(caches, batch, strict=True)]
        narrow = [(one.scores.logits.clone(), one.scores.summary) for one in backend.step(steps)]
        behind = forward(model, Costs(), steps, summarise=True)
        for (logits, summary), expected in zip(narrow, behind, strict=True):
            assert summary
            assert expected.scores.summary
            torch.testing.assert_close(logits, expected.scores.logits)
            for name in ("best", "best_log_p", "top", "top_log_p"):
                own, other = (getattr(one, name) for one in (summary, expected.scores.summary))
                np.testing.assert_allclose(own, other, rtol=1e-5, err_msg=name)
        for step in steps:
            step.cache.length += step.rows.canvas.count(0)


def test_a_prompt_takes_steps_of_all_rows_that_a_gpu_takes(tiny: Engine, engine: Engine):
    gap, options = Gap("x = 1\n" * 180, "\n"), Options(max_tokens=4)
    request = engine.request(gap, options)
    widths: list[int] = []
    while not request.done:
        before = request.rows_run
        engine.step([request])
        widths.append(request.rows_run - before)
    assert widths[:2] == [ROW_COUNTS[-1]] * 2
    assert request.outcome().tokens == tiny_of(tiny, engine).fill(gap, options).tokens


@pytest.mark.parametrize("format", ["int8", "fp8"])
def test_quantised_weights_come_close(format: str):
    rows = next(batches())
    dense, model = gpu(), gpu(format=format)
    expected, got = (m.head(m.forward([(m.new_cache(), r) for r in rows])) for m in (dense, model))
    assert torch.linalg.vector_norm(got - expected) < 0.15 * torch.linalg.vector_norm(expected)


@pytest.mark.parametrize("schedule", ["auto", "split"])
@pytest.mark.parametrize("number", range(len(GAPS)))
def test_verified_on_the_device_is_autoregressive(tiny: Engine, engine: Engine, number: int, schedule: str):
    """Invariant 1, against the other step's answer, whatever was drafted."""
    expected = tiny_of(tiny, engine).fill(GAPS[number], Options(mode="autoregressive", max_tokens=20))
    drafts = drafters(expected.tokens, expected.cost.prompt_tokens) | {"copied": None}
    for mode in ("autoregressive", "verified"):
        for name, drafter in drafts.items():
            options = Options(mode=mode, schedule=schedule, draft=3, copy=name == "copied", max_tokens=20)
            fill = engine.fill(GAPS[number], options, drafter=drafter)
            assert (fill.tokens, fill.text, fill.reason) == (expected.tokens, expected.text, expected.reason), name
            log_p = [sure for _, sure in fill.confidence]
            assert log_p == pytest.approx([sure for _, sure in expected.confidence], abs=1e-3)
    if len(expected.tokens) > 8:
        options = Options(draft=3, copy=False, max_tokens=20)
        assert engine.fill(GAPS[number], options, drafter=drafts["right"]).cost.tau > 2, "right drafts must pay"


def tiny_of(tiny: Engine, engine: Engine) -> Engine:
    """The engine with the reference step; both must hold the same model."""
    assert torch.equal(tiny.model.adapter.mask_embedding, engine.model.adapter.mask_embedding)
    return tiny


def test_many_gaps_share_steps(tiny: Engine, engine: Engine):
    """In every mode, forced beginnings and prompts among them; each as if it were alone."""
    variants = [Options(max_tokens=10), Options(mode="diffusion", max_tokens=10), Options(mode="autoregressive")]
    together = {(g, v): fill for g, v, fill in engine.fill_many(GAPS, variants, width=7)}
    for (g, v), fill in together.items():
        assert fill.tokens == tiny.fill(GAPS[g], variants[v]).tokens, (g, v)


def test_a_gap_filled_by_the_kernels(tiny: Engine, kernels: GpuQwen2):
    gap, engine = Gap("", ""), Engine(kernels, ByteTokenizer())
    expected = tiny.fill(gap, Options(mode="autoregressive", max_tokens=3))
    fill = engine.fill(gap, Options(draft=1, copy=False, max_tokens=3))
    assert fill.tokens == expected.tokens
    assert kernels.failures == {}


def test_typing_on_is_fresh(engine: Engine):
    """Invariant 2."""
    session, gap = engine.new_session(), Gap("def area(w, h):\n    ", "\n\nprint(area(2, 3))\n")
    for middle in ("", "r", "return", "retu", "return w * h\n", "q"):
        now = Gap(gap.prefix, gap.suffix, middle)
        fill = engine.fill(now, Options(max_tokens=8), session)
        assert fill.tokens == engine.fill(now, Options(max_tokens=8)).tokens, middle
        if middle:
            assert fill.cost.cached_tokens > 30


@pytest.mark.parametrize("mode", ["verified", "diffusion"])
def test_sampling_needs_logits_and_gives_what_the_other_step_gives(tiny: Engine, engine: Engine, mode: str):
    options = Options(mode=mode, temperature=1, seed=3, max_tokens=12)
    assert engine.fill(GAPS[0], options).tokens == tiny.fill(GAPS[0], options).tokens


def test_pages_come_back_and_run_out_with_a_word():
    pool = Pool(SHAPE, torch.float32, torch.device("cpu"), pages=5)
    cache = PagedCache(pool)
    cache.reserve(2 * PAGE + 1)
    assert (pool.free, 0 in cache.pages) == (1, False)
    with pytest.raises(MemoryError):
        PagedCache(pool).reserve(3 * PAGE)
    del cache
    assert pool.free == 4


def test_a_fork_shares_pages_until_one_of_the_two_writes():
    pool = Pool(SHAPE, torch.float32, torch.device("cpu"), pages=9)
    cache = PagedCache(pool)
    cache.reserve(3 * PAGE)
    cache.length = PAGE + 5
    pool.kv[:, :, cache.pages] = 1.0
    before, twin = pool.free, cache.fork(PAGE + 5)
    assert (twin.pages, pool.free) == (cache.pages[:2], before)
    twin.reserve(3)
    assert (twin.pages[0], pool.free) == (cache.pages[0], before - 1)
    assert twin.pages[1] != cache.pages[1]
    assert bool((pool.kv[:, :, twin.pages[1]] == 1).all()), "it begins as the page that was shared"
    cache.length = 7  # what is behind it is written anew, also where the fork still reads
    cache.reserve(1)
    assert twin.pages[0] != cache.pages[0]
    del cache, twin
    assert pool.free == 8


def test_the_longest_context_fits_into_a_session():
    """With the widest step behind it."""
    assert MAX_CONTEXT_TOKENS + ROW_COUNTS[-1] <= MAX_SESSION_PAGES * PAGE


def test_no_batch_has_a_shape_that_is_not_warmed_up():
    known = set(shapes(published=True))
    for count, sessions, canvas, published, context in product(
        range(1, ROW_COUNTS[-1] + 1), (1, 2, 5, 17, 65), (False, True), (False, True), (0, LONG_CONTEXT + 1)
    ):
        clean = max(1, count - canvas)
        batch = [Rows() for _ in range(min(sessions, clean))]
        for number in range(clean):
            batch[number % len(batch)].add_clean([1], 0)
        batch[0].add_canvas([MASK] * (count - clean), after=0)
        assert BatchShape.of(batch, published, context) in known


def test_a_fork_goes_its_own_way(engine: Engine):
    session = engine.prefilled(GAPS[3])
    twin = session.copy()
    options = Options(max_tokens=6)
    expected = engine.fill(GAPS[3], options).tokens
    engine.fill(Gap("x", "y"), options, twin)
    assert engine.fill(GAPS[3], options, session).tokens == expected


def test_a_broken_kernel_leaves_a_working_engine(tiny: Engine, caplog: pytest.LogCaptureFixture):
    def broken(*inputs: object, **options: object) -> None:
        raise RuntimeError("out of resource: shared memory")

    model = gpu()
    model.ops.gated_swiglu._fused = broken
    fill = Engine(model, ByteTokenizer()).fill(GAPS[0], Options(max_tokens=4))
    assert fill.tokens == tiny.fill(GAPS[0], Options(max_tokens=4)).tokens
    assert model.failures == {"gated_swiglu": "RuntimeError: out of resource: shared memory"}
    assert len(caplog.records) == 1


def test_without_triton_a_gpu_is_not_taken_by_itself(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(devices, "is_nvidia", lambda: True)
    assert devices.resolve("auto") == "cuda"
    monkeypatch.setattr(devices, "StepOps", lambda fused: SimpleNamespace(failures={"embed": "no Triton"}))
    assert devices.resolve("auto") == "cpu"


def test_a_gpu_without_room_for_a_session_is_a_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (2**20, 2**30))
    with pytest.raises(EngineError, match="too little free memory for this model: set DLSP_DEVICE to cpu"):
        devices.load(Weights.random(SHAPE), None, "cuda", "bfloat16")


def test_a_device_that_is_not_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert devices.resolve("auto") == "cpu"
    with pytest.raises(EngineError, match="sees no GPU: set DLSP_DEVICE"):
        devices.resolve("cuda")
    with pytest.raises(EngineError, match="no device 'tpu': set DLSP_DEVICE to one of auto"):
        devices.resolve("tpu")
