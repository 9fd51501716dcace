"""In bfloat16, too, a row of a step of up to 32 rows has the bits that it has in a step of its own: so verified
decoding on a GPU is autoregressive decoding to the bit. By the kernels in Triton's interpreter; on a GPU:
`python -m bench.gpu`.
"""

from dataclasses import replace

import pytest
import torch

from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.gpu.pool import PagedCache
from dlsp_engine.model.gpu.step import GpuQwen2
from dlsp_engine.model.rows import MASK, Rows
from dlsp_engine.model.weights import Weights
from dlsp_kernels.packed_rows import PAGE
from tests.engine.test_gpu_step import SHAPE

pytestmark = pytest.mark.usefixtures("one_thread")

PROMPT = [(7 * at) % 250 for at in range(PAGE - 2)]
TEXT = [5, 17, 99, 3]


@pytest.fixture(scope="module")
def model() -> GpuQwen2:
    shape = replace(SHAPE, layers=1)
    weights = Weights.random(shape, torch.bfloat16)
    adapter = Adapter.random(shape)
    adapter.mask_embedding = adapter.mask_embedding.bfloat16()
    return GpuQwen2(weights, adapter, "cpu", pages=9)


def step(model: GpuQwen2, cache: PagedCache, rows: Rows) -> torch.Tensor:
    return model.head(model.forward([(cache, rows)]).clone())


def test_rows_of_a_step_have_the_bits_of_steps_of_their_own(model: GpuQwen2):
    """Clean rows beside canvases, and an alternative that is right."""
    prompt, rows = model.new_cache(), Rows()
    rows.add_clean(PROMPT, 0)
    model.forward([(prompt, rows)])
    prompt.length = len(PROMPT)

    single, alone = prompt.fork(prompt.length), []
    for token in TEXT:
        rows = Rows()
        rows.add_clean([token], single.length)
        alone.append(step(model, single, rows)[0])
        single.length += 1

    cache, rows = prompt.fork(prompt.length), Rows()
    rows.add_clean([*TEXT[:-1], 200], cache.length)
    last = cache.length + len(TEXT) - 1
    rows.add_alternative(TEXT[-1], last, [MASK, MASK])
    for after in (last - 1, last):
        rows.add_canvas([MASK] * 4, after)
    together = step(model, cache, rows)
    for place, expected in enumerate(alone[:-1]):
        assert torch.equal(together[place], expected), place
    assert torch.equal(together[len(TEXT)], alone[-1]), "the alternative"
    assert not torch.equal(together[len(TEXT) - 1], alone[-1])

    cache.move(len(TEXT), len(TEXT) - 1)
    cache.length += len(TEXT)
    following = []
    for one in (cache, single):
        rows = Rows()
        rows.add_clean([42], one.length)
        following.append(step(model, one, rows))
    assert torch.equal(*following), "what the alternative has written is what its clean row has"
    assert model.failures == {}
