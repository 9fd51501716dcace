import pytest
import torch

from dlsp_kernels import attention_bias, canvas_attention
from dlsp_kernels.canvas_attention.compiled import CompiledAttention, suited
from dlsp_kernels.canvas_attention.source import TILE, TOGETHER, Place
from dlsp_kernels.kv_format import FLOAT32, INT4, INT8
from tests.kernels.programs import KINDS

# A cache of 3; clean rows at 3, 4, 5; one canvas of two after position 3, one of two after position 5; an alternative
# at position 4 with a canvas of one behind it, and one at position 5 with none.
POSITIONS = [3, 4, 5, 4, 5, 6, 7, 4, 5, 5]
VISIBLE = [4, 5, 6, 4, 4, 6, 6, 4, 4, 5]
CANVAS = [0, 0, 0, 1, 1, 2, 2, -3, 3, -4]


def seen_by(row: int, cached: int) -> list[bool]:
    """Key by key, straight from the definition."""
    old = [position < VISIBLE[row] for position in range(cached)]
    own = {CANVAS[row], -abs(CANVAS[row])}  # an alternative sees itself, its canvas sees both
    new = [POSITIONS[key] < VISIBLE[row] if CANVAS[key] == 0 else CANVAS[key] in own for key in range(len(CANVAS))]
    return old + new


def test_bias_is_the_definition():
    bias = attention_bias(torch.tensor([POSITIONS, VISIBLE, CANVAS]), 3, 15, 2, torch.float32)
    assert len(bias) == 24
    bias = bias[:20]
    expected = [seen_by(row, 3) + [False] * 2 for row in range(len(CANVAS))] * 2
    assert (bias == 0).tolist() == expected
    assert bias[~torch.tensor(expected)].eq(-torch.inf).all()


@pytest.mark.parametrize(
    ("rows", "heads", "kv_heads", "keys"), [(1, 4, 2, 1), (3, 6, 2, 11), (7, 14, 2, 10), (5, 4, 4, 9)]
)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 2e-2)])
def test_attention_against_one_head_at_a_time(rows, heads, kv_heads, keys, dtype, tolerance):
    torch.manual_seed(0)
    q, k, v = (torch.randn(s).to(dtype) for s in ((rows, heads, 8), (kv_heads, keys, 8), (kv_heads, keys, 8)))
    seen = torch.rand(rows, keys) < 0.6
    seen[:, 0] = True
    one = torch.zeros(rows, keys, dtype=dtype).masked_fill(~seen, -torch.inf)
    out = canvas_attention(q, k, v, one.repeat(heads // kv_heads, 1)).view(rows, heads, 8)
    for head in range(heads):
        own = head * kv_heads // heads
        score = q[:, head].float() @ k[own].float().T / 8**0.5
        expected = score.masked_fill(~seen, -torch.inf).softmax(-1) @ v[own].float()
        torch.testing.assert_close(out[:, head].float(), expected, atol=tolerance, rtol=tolerance)


HEADS = [(14, 2, 64), (12, 2, 128), (4, 4, 16), (4, 2, 8)]
CASES = [(kind, *heads) for kind in KINDS for heads in HEADS if heads[-1] % kind.lanes == 0]


@pytest.mark.parametrize(("kind", "heads", "kv_heads", "d"), CASES)
@pytest.mark.parametrize(("cached", "clean", "canvas"), [(0, 1, 0), (15, 2, 3), (70, 1, 18), (129, 40, 0)])
def test_the_program_against_the_reference(kind, heads, kv_heads, d, cached, clean, canvas):
    torch.manual_seed(0)
    rows, layers, layer = clean + canvas, 3, 2
    keys = cached + rows
    kv = torch.randn(2, layers, kv_heads, keys, d)
    kv[:, :, :, cached:] = torch.nan  # what lies behind is read, but never counts
    theirs = kv.clone()
    visible = [*range(cached + 1, cached + clean + 1), *[cached + clean] * canvas]
    own = [(0, 0)] * clean + [(cached + clean, keys)] * canvas
    kind_bytes, layer_bytes, head_bytes, *_ = (4 * stride for stride in kv.stride())
    memory = kv.data_ptr(), 0, layer_bytes, kind_bytes, head_bytes
    places = torch.tensor([Place(*memory, cached + row, visible[row], *own[row], together=1) for row in range(rows)])
    qkv = torch.randn(rows, heads + 2 * kv_heads, d)
    q, k, v = qkv.split([heads, kv_heads, kv_heads], 1)
    numbers = torch.tensor([[*range(cached, keys)], visible, [int(row >= clean) for row in range(rows)]])
    bias = attention_bias(numbers, cached, keys, heads // kv_heads, torch.float32)
    theirs[:, layer, :, cached:keys] = torch.stack([k, v]).transpose(1, 2)
    expected = canvas_attention(q, theirs[0, layer], theirs[1, layer], bias)

    one = CompiledAttention(places[:1], heads, kv_heads, d, kind)(layer, q[:1], k[:1], v[:1])
    found = CompiledAttention(places, heads, kv_heads, d, kind)(layer, q, k, v)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert torch.equal(kv[:, layer], theirs[:, layer]), "keys and values are in their places"
    assert kv[:, :layer, :, cached:].isnan().all(), "nothing else changed"
    assert torch.equal(one, found[:1]), "a row is the same whatever comes beside it"


@pytest.mark.parametrize(("kind", "heads", "kv_heads", "d"), CASES)
@pytest.mark.parametrize(("cached", "at"), [(0, 1), (13, 3), (14, 2), (70, 5), (127, 1)])
def test_an_alternative_has_the_bits_of_the_clean_row_that_it_would_be(kind, heads, kv_heads, d, cached, at):
    """Wherever its key lies: behind clean rows 0 … at and two others' rows."""
    torch.manual_seed(0)
    keys = cached + at + 4
    given = torch.randn(2, 1, kv_heads, keys, d)
    rows = torch.randn(at + 4, heads + 2 * kv_heads, d)

    def attended(qkv: torch.Tensor, own: Place) -> torch.Tensor:
        kv = given.clone()
        layer, head = (4 * stride for stride in kv.stride()[1:3])
        memory = kv.data_ptr(), 0, layer, 4 * kv.stride(0), head
        places = [Place(*memory, cached + row, cached + row + 1, 0, 0, 1) for row in range(len(qkv) - 1)]
        q, k, v = qkv.split([heads, kv_heads, kv_heads], 1)
        places = torch.tensor([*places, own._replace(**dict(zip(Place._fields, memory, strict=False)))])
        return CompiledAttention(places, heads, kv_heads, d, kind)(0, q, k, v)[-1]

    place = Place(0, 0, 0, 0, 0, cached + at, cached + at + 1, 0, 0, 1)
    alone = attended(torch.cat([rows[:at], rows[-1:]]), place)
    behind = cached + at + 3
    assert torch.equal(attended(rows, Place(0, 0, 0, 0, 0, behind, cached + at, behind, behind + 1, 1)), alone)


@pytest.mark.parametrize(("kind", "heads", "kv_heads", "d"), CASES)
@pytest.mark.parametrize("cached", [0, 1, 13, TILE - 5, TILE, 3 * TILE - 1, 700])
@pytest.mark.parametrize("kv", [FLOAT32, INT8], ids=["float32", "int8"])
def test_rows_that_attend_together_have_the_bits_of_rows_alone(kind, heads, kv_heads, d, cached, kv):
    """In groups of every size, from 1 to TOGETHER rows, which cross the ends of vectors and tiles at any place."""
    torch.manual_seed(cached)
    sizes = [*range(1, TOGETHER + 1), TOGETHER, 3]
    rows = sum(sizes)
    held = torch.randn(2, 1, kv_heads, cached + rows, d)
    held[:, :, :, cached:] = torch.nan
    stored = kv.store(held)
    kind_bytes, layer, head = (stored[0].itemsize * stride for stride in stored[0].stride()[:3])
    memory = stored[0].data_ptr(), stored[-1].data_ptr(), layer, kind_bytes, head
    q, k, v = torch.randn(rows, heads + 2 * kv_heads, d).split([heads, kv_heads, kv_heads], 1)

    def attended(sizes: list[int]) -> torch.Tensor:
        together = [number for size in sizes for number in (size, *[0] * (size - 1))]
        seen = [(cached + row, cached + row + 1, cached + row, cached + row) for row in range(rows)]
        places = [Place(*memory, *own, number) for own, number in zip(seen, together, strict=True)]
        return CompiledAttention(torch.tensor(places), heads, kv_heads, d, kind, kv)(0, q, k, v)

    alone = attended([1] * rows)
    assert alone.isfinite().all()
    assert torch.equal(attended(sizes), alone)


@pytest.mark.parametrize("kv", [INT8, INT4], ids=["int8", "int4"])
@pytest.mark.parametrize(("kind", "heads", "kv_heads", "d"), CASES)
@pytest.mark.parametrize(("cached", "clean", "canvas"), [(0, 1, 0), (15, 2, 3), (300, 40, 0), (127, 1, 18)])
def test_a_cache_of_integers_is_what_the_reference_makes_it(kind, heads, kv_heads, d, kv, cached, clean, canvas):
    """Keys and values are stored to the bit as by `KvFormat`; the result is that of attention to what it loads."""
    if kv.bits == 4 and d % (2 * kind.lanes):
        pytest.skip("two vectors of numbers make one of bytes")
    torch.manual_seed(0)
    rows, layers, layer = clean + canvas, 3, 2
    keys = cached + rows
    given = torch.randn(2, layers, kv_heads, keys, d) * torch.rand(2, layers, kv_heads, keys, 1) * 9
    given[0, layer, 0, -1] = 0  # of which no scale can be made
    codes, scales = kv.store(given)
    qkv = torch.randn(rows, heads + 2 * kv_heads, d)
    q, _, _ = qkv.split([heads, kv_heads, kv_heads], 1)
    k, v = (each.transpose(0, 1).contiguous() for each in given[:, layer, :, cached:])
    mine, my_scales = codes.clone(), scales.clone()
    mine[:, :, :, cached:] = 99
    my_scales[:, :, :, cached:] = 3
    layer_bytes, head_bytes = mine.stride()[1:3]
    memory = mine.data_ptr(), my_scales.data_ptr(), layer_bytes, mine.stride(0), head_bytes
    visible = [*range(cached + 1, cached + clean + 1), *[cached + clean] * canvas]
    own = [(0, 0)] * clean + [(cached + clean, keys)] * canvas
    places = torch.tensor([Place(*memory, cached + row, visible[row], *own[row], together=1) for row in range(rows)])
    found = CompiledAttention(places, heads, kv_heads, d, kind, kv)(layer, q, k, v)
    assert torch.equal(mine[:, layer], codes[:, layer])
    assert torch.equal(my_scales[:, layer], scales[:, layer])
    assert (mine[:, :layer, :, cached:] == 99).all(), "nothing else changed"

    all_keys, all_values = kv.load([codes[:, layer], scales[:, layer]])
    numbers = torch.tensor([[*range(cached, keys)], visible, [int(row >= clean) for row in range(rows)]])
    bias = attention_bias(numbers, cached, keys, heads // kv_heads, torch.float32)
    torch.testing.assert_close(found, canvas_attention(q, all_keys, all_values, bias), atol=1e-4, rtol=1e-4)


def test_heads_that_make_no_vectors_have_no_program():
    assert suited(14) is None
