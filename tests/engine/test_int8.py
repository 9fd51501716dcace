"""The int8 step against the reference, tiny and real."""

import copy
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from dlsp_engine import Engine, EngineError, Gap, Options
from dlsp_engine.model import int8_file, manifest, rotate
from dlsp_engine.model import quantised as quantised_module
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.attention import ReferenceAttention
from dlsp_engine.model.cache import Cache
from dlsp_engine.model.int8 import Int8Qwen2, Int8Weights, compiled_attention
from dlsp_engine.model.quantised import quantised
from dlsp_engine.model.qwen2 import Model, Qwen2
from dlsp_engine.model.rows import MASK, Rows
from dlsp_engine.model.weights import Weights
from dlsp_kernels import hadamard
from dlsp_kernels.canvas_attention.compiled import suited
from dlsp_kernels.int8_linear.compiled import Compiled
from dlsp_kernels.int8_linear.kinds import Int8, best
from dlsp_kernels.kv_format import FLOAT32, INT4, INT8, KvFormat

pytestmark = pytest.mark.skipif(best() is None, reason="no int8 matmul here")


# Tokens for which the tiny model is quantised to 4 bits: 6 pieces of 40.
SAMPLE = (torch.arange(240) * 37 % 251).view(6, 40)


@pytest.fixture(params=[8, 4])
def bits(request: pytest.FixtureRequest) -> int:
    """Of each weight. The tiny model's `down` has 48 inputs, which are no groups of 32: it has 8 bits in any case."""
    if request.param == 4 and not isinstance(best(), Compiled):
        pytest.skip("no 4-bit kernel runs here")
    return request.param


def int8(dense: Model, adapter: bool = True, bits: int = 8, kv: KvFormat | None = None) -> Int8Qwen2:
    assert isinstance(dense, Qwen2)
    kind = best()
    assert kind
    chosen = dense.adapter if adapter else Adapter.none(dense.weights.embedding, dense.shape)
    tensors = quantised(dense.weights, chosen, kind, sample=SAMPLE if bits == 4 else None)
    return Int8Qwen2(dense.weights, chosen, Int8Weights.of(tensors, dense.shape, kind), kv)


def logits(model: Model, tokens: list[int], canvases: int = 2) -> Tensor:
    """Of clean rows in three pieces with a canvas behind each, then of those canvases."""
    cache, found = model.new_cache(), []
    for start, end in ((0, len(tokens) // 2), (len(tokens) // 2, len(tokens) - 3), (len(tokens) - 3, len(tokens))):
        rows = Rows()
        rows.add_clean(tokens[start:end], start)
        rows.add_canvas([MASK, tokens[0], MASK][:canvases], after=end - 1)
        found.append(model.head(model.forward([(cache, rows)])))
        cache.length = end
    return torch.cat(found)


@pytest.mark.parametrize("length", [20, 128])
@pytest.mark.parametrize("programs", [True, False])
def test_tiny_int8_says_nearly_what_float32_says(tiny, length, programs, bits, monkeypatch):
    if not programs:
        monkeypatch.setattr("dlsp_engine.model.int8.usable", lambda: None)
        monkeypatch.setattr("dlsp_engine.model.int8.suited", lambda *_: None)
    torch.manual_seed(1)
    tokens = torch.randint(0, 256, (length,)).tolist()
    exact, found = logits(tiny.model, tokens), logits(int8(tiny.model, bits=bits), tokens)
    similarity = torch.cosine_similarity(exact, found, dim=1)
    if bits == 8:
        assert similarity.min() > 0.98, similarity
    else:
        assert similarity.mean() > 0.93, similarity


def test_the_last_layers_keep_8_bits_where_4_lose_most(tiny, monkeypatch):
    kind, layers = best(), tiny.model.shape.layers
    if not isinstance(kind, Compiled):
        pytest.skip("no 4-bit kernel runs here")
    monkeypatch.setattr("dlsp_engine.model.quantised.FINE_SHARE", layers)  # the last one
    tensors = quantised(tiny.model.weights, tiny.model.adapter, kind, sample=SAMPLE)
    eight = {name for name, tensor in tensors.items() if name.endswith(".weight") and tensor.dtype == torch.int8}
    downs = {f"{i}.down.weight" for i in range(layers)}  # whose inputs are no groups of 32
    assert eight == downs | {f"{layers - 1}.gate_up.weight"}
    mixed = Int8Qwen2(tiny.model.weights, tiny.model.adapter, Int8Weights.of(tensors, tiny.model.shape, kind))
    exact, found = logits(tiny.model, list(range(40))), logits(mixed, list(range(40)))
    assert torch.cosine_similarity(exact, found, dim=1).mean() > 0.93


def test_clean_rows_are_the_base_models_whatever_the_adapter(tiny, bits):
    tokens = list(range(30))
    with_one, without = int8(tiny.model, bits=bits), int8(tiny.model, adapter=False, bits=bits)
    a, b = (logits(model, tokens, canvases=2) for model in (with_one, without))
    canvas = torch.tensor([15, 16, 29, 30, 34, 35])
    clean = torch.ones(len(a), dtype=torch.bool)
    clean[canvas] = False
    torch.testing.assert_close(a[clean], b[clean], rtol=0, atol=1e-5)
    assert (a[~clean] - b[~clean]).abs().max() > 0.1


@pytest.mark.parametrize(("clean", "canvas"), [(1, 4), (2, 0), (5, 0), (3, 6), (9, 9), (64, 0)])
@pytest.mark.parametrize("cached", [1, 61, 125, 250, 508, 530])
def test_clean_rows_are_the_same_to_the_bit_whatever_comes_beside_them(tiny, clean, canvas, cached, bits):
    model, tokens = int8(tiny.model, bits=bits), [(7 * i) % 250 for i in range(cached + clean)]

    def hidden(width: int, canvas: int) -> Tensor:
        """Of the last `clean` tokens, so many in a step, with a canvas behind them."""
        cache, found = model.new_cache(), []
        for start, end in ((0, cached), *((place, place + width) for place in range(cached, len(tokens), width))):
            rows = Rows()
            rows.add_clean(tokens[start:end], start)
            rows.add_canvas([MASK] * canvas, after=end - 1)
            found.append(model.forward([(cache, rows)])[: end - start])
            cache.length = end
        return torch.cat(found[1:])

    assert torch.equal(hidden(1, 0), hidden(clean, canvas))


@pytest.mark.parametrize(("at", "canvas"), [(0, 0), (0, 3), (2, 0), (3, 2)])
@pytest.mark.parametrize("cached", [0, 11, 61, 125])
def test_an_alternative_has_the_bits_of_the_row_it_would_be(tiny, at, canvas, cached):
    """And in its place of the cache it is that row for all that comes later."""
    model = int8(tiny.model)
    before, draft = list(range(40, 40 + cached)), [7, 8, 9, 10, 11]
    right = [*draft[: 1 + at], 99]

    def begun() -> Cache:
        cache = model.new_cache()
        if before:
            rows = Rows()
            rows.add_clean(before, 0)
            model.forward([(cache, rows)])
        cache.length = cached
        return cache

    def stepped(rows: Rows, cache: Cache) -> Tensor:
        return model.forward([(cache, rows)])

    expected, plain = begun(), Rows()
    plain.add_clean(right, cached)
    found = stepped(plain, expected)
    cache, rows = begun(), Rows()
    rows.add_clean(draft, cached)
    rows.add_alternative(98, cached + at + 1, [MASK] * canvas)
    rows.add_alternative(99, cached + at + 1, [MASK] * canvas)
    rows.add_canvas([MASK], after=cached + 1)
    row = len(draft) + 1 + canvas
    assert rows.tokens[row] == 99
    beside = stepped(rows, cache)
    assert torch.equal(beside[row], found[-1])
    assert torch.equal(beside[: 1 + at], found[:-1])
    cache.move(row, at + 1)
    for each in (expected, cache):
        each.length = cached + at + 2
    later = Rows()
    later.add_clean([3, 4], cached + at + 2)
    assert torch.equal(stepped(later, cache), stepped(later, expected))
    if canvas:
        with_canvas, behind = begun(), Rows()
        behind.add_clean(right, cached)
        behind.add_canvas([MASK] * canvas, after=cached + at + 1)
        drafted = stepped(behind, with_canvas)[-canvas:]
        assert torch.equal(beside[row + 1 : row + 1 + canvas], drafted), "a canvas sees it as it would the row"


def test_several_sessions_in_a_step_are_each_their_own(tiny):
    model = int8(tiny.model)
    batch, apart = [], []
    for start in (3, 60):
        rows = Rows()
        rows.add_clean(list(range(start, start + 4)), 0)
        rows.add_canvas([MASK, MASK], after=3)
        batch.append((model.new_cache(), rows))
        apart.append(model.forward([(model.new_cache(), rows)]))
    torch.testing.assert_close(model.forward(batch), torch.cat(apart), rtol=1e-4, atol=1e-4)


def test_an_adapter_from_the_file_turns_with_the_base(tiny):
    """Drafts of the int8 canvas agree with the float32 canvas far more than with an adapter left out."""
    tokens = list(range(40, 70))
    exact = logits(tiny.model, tokens)
    canvas = torch.tensor([15, 16, 29, 30, 34, 35])
    right = torch.cosine_similarity(exact, logits(int8(tiny.model), tokens), dim=1)[canvas]
    wrong = torch.cosine_similarity(exact, logits(int8(tiny.model, adapter=False), tokens), dim=1)[canvas]
    assert right.min() > wrong.max()


def test_weights_from_the_file_are_the_same_to_the_bit(tiny, tmp_path, bits):
    dense, kind = tiny.model, best()
    assert isinstance(dense, Qwen2)
    assert kind
    said: list[str] = []
    sample = {4: lambda: SAMPLE, 8: None}
    int8_file.stored(tmp_path, dense.weights, dense.adapter, kind, said.append, sample[bits])
    kept = int8_file.stored(tmp_path, dense.weights, dense.adapter, kind, said.append, sample[bits])
    model = Int8Qwen2(dense.weights, dense.adapter, kept)
    assert torch.equal(logits(model, list(range(30))), logits(int8(dense, bits=bits), list(range(30))))
    assert sum("once" in line for line in said) == 1, "made once"
    other = Adapter.random(dense.shape, seed=7)
    int8_file.stored(tmp_path, dense.weights, other, kind, said.append, sample[12 - bits])
    assert sum("once" in line for line in said) == 2
    kinds = sorted(each.suffix for each in tmp_path.glob("int?-*"))
    assert kinds == [".manifest", ".safetensors"], "what serves no more is removed, of other bits too"


def test_the_head_is_quantised_a_few_rows_at_once(tiny, kind, monkeypatch):
    """In float32 the whole of it would be what a small machine ends the engine for."""
    rows, real = [], quantised_module.quantise_weight
    monkeypatch.setattr(quantised_module, "quantise_weight", lambda weight: rows.append(len(weight)) or real(weight))
    whole = quantised(tiny.model.weights, tiny.model.adapter, kind)
    monkeypatch.setattr(quantised_module, "HEAD_ROWS", 100)
    rows.clear()
    pieces = quantised(tiny.model.weights, tiny.model.adapter, kind)
    assert max(rows) <= 100
    assert pieces.keys() == whole.keys()
    for name, tensor in pieces.items():
        torch.testing.assert_close(tensor.float(), whole[name].float(), atol=1, rtol=1e-5)


@pytest.fixture
def kind() -> Int8:
    found = best()
    assert found
    return found


@pytest.fixture
def file(tiny, kind, tmp_path) -> Path:
    int8_file.stored(tmp_path, tiny.model.weights, tiny.model.adapter, kind, lambda line: None)
    (made,) = tmp_path.glob("int8-*.safetensors")
    return made


def test_what_is_there_needs_no_folder_that_can_be_written(tiny, kind, file, monkeypatch):
    def refused(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(int8_file, "FileLock", refused)
    int8_file.stored(file.parent, tiny.model.weights, tiny.model.adapter, kind)
    with pytest.raises(EngineError, match=r"could not be written to .* \(Permission denied\)"):
        int8_file.stored(file.parent, tiny.model.weights, Adapter.random(tiny.model.shape, seed=7), kind)


def test_a_full_disk_is_one_sentence(tiny, kind, tmp_path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(int8_file, "save_file", full)
    with pytest.raises(EngineError, match="free some space"):
        int8_file.stored(tmp_path, tiny.model.weights, tiny.model.adapter, kind, lambda line: None)


@pytest.mark.parametrize("more", range(9))
def test_tensors_begin_at_a_cache_line(tmp_path, more):
    """Whatever the header's length: a name that is `more` characters longer makes it so much longer."""
    tensors = {"scale": torch.zeros(16), "weight": torch.zeros(3, 64, dtype=torch.int8)}
    tensors |= {f"{'n' * (1 + more)}{number}": torch.zeros(128, dtype=torch.uint8) for number in range(12)}
    int8_file._write(tmp_path / "int8-machine-adapter.safetensors", tensors)
    (file,) = tmp_path.glob("*.safetensors")
    with safe_open(file, framework="pt") as opened:
        assert set(opened.keys()) == set(tensors)
    assert (8 + int.from_bytes(file.read_bytes()[:8], "little")) % 64 == 0


def test_what_a_killed_engine_left_half_written_goes(tiny, kind, file):
    half = file.with_name(f"{file.stem[:-4]}0000.partial")
    half.write_bytes(b"half")
    int8_file.stored(file.parent, tiny.model.weights, Adapter.random(tiny.model.shape, seed=7), kind, lambda line: None)
    assert not half.exists()


def test_a_damaged_file_is_made_again(tiny, kind, file):
    right, said = file.read_bytes(), []
    file.write_bytes(right[:1000])
    int8_file.stored(file.parent, tiny.model.weights, tiny.model.adapter, kind, said.append)
    assert file.read_bytes() == right
    assert "damaged" in said[0]


def test_a_file_that_memory_lacks_for_is_not_damaged(tiny, kind, file, monkeypatch):
    def fail(*_: object) -> None:
        raise RuntimeError("unable to mmap 12 bytes: Cannot allocate memory (12)")

    monkeypatch.setattr(int8_file, "_read", fail)
    with pytest.raises(RuntimeError, match="allocate"):
        int8_file.stored(file.parent, tiny.model.weights, tiny.model.adapter, kind)


def test_a_file_of_another_model_is_one_sentence(tiny, kind, file):
    weights, adapter = tiny.model.weights, tiny.model.adapter
    tensors = quantised(weights, adapter, kind)
    for wrong in (
        {"0.down.weight": tensors["0.qkv.weight"].clone()},
        {"head.scale": tensors["head.scale"][1:].clone()},
        {"1.out.weight": tensors["1.out.weight"].float()},
        {"1.out.weight": tensors["1.out.weight"].view(torch.uint8)},
        {"0.qkv.b": tensors["0.out.b"].clone()},
        {"0.qkv.b_scale": tensors["0.qkv.b_scale"][1:].clone()},
        {"1.qkv_bias": tensors["1.qkv_bias"].double()},
        {"turn": tensors["turn"][1:].clone()},
        {"mask": tensors["mask"][1:].clone()},
        {"head.weight": tensors["head.weight"].flatten(0, 1)[None].clone()},
        {"0.down.weight": torch.cat([tensors["0.down.weight"]] * 4)},
    ):
        save_file(tensors | wrong, partial := file.with_suffix(".partial"))
        manifest.publish(partial, file)
        with pytest.raises(EngineError, match="damaged; delete it"):
            int8_file.stored(file.parent, weights, adapter, kind)


@pytest.mark.skipif(not suited(64), reason="no program runs here")
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("kv", [FLOAT32, INT8, INT4], ids=["float32", "int8", "int4"])
def test_sessions_attend_together_as_they_do_apart(threads, kv, threads_after):
    """Heads as long as the widest vectors need; two canvases that must not see each other in each session."""
    shape = Architecture(layers=2, dim=128, heads=4, kv_heads=2, head_dim=64, ff=64, vocab=64, theta=1e4, eps=1e-6)
    kind = suited(shape.head_dim)
    assert kind
    batch = []
    for start, clean in ((70, 3), (0, 2)):
        cache, rows = Cache(shape, kv), Rows()
        cache.reserve(start)
        cache.length = start
        rows.add_clean([0] * clean, start)
        rows.add_canvas([MASK] * 4, after=start + clean - 2)
        rows.add_canvas([MASK] * 5, after=start + clean - 1)
        cache.reserve(len(rows))
        batch.append((cache, rows))
    count = sum(len(rows) for _, rows in batch)
    q, k, v = (torch.randn(count, heads, shape.head_dim) for heads in (shape.heads, shape.kv_heads, shape.kv_heads))
    torch.set_num_threads(threads)
    for layer in range(shape.layers):
        found = compiled_attention(batch, shape, kind, kv)(layer, q, k, v)
        expected = ReferenceAttention(batch, shape, torch.float32)(layer, q, k, v)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kv", [INT8, INT4], ids=["int8", "int4"])
@pytest.mark.parametrize("seed", range(3))
def test_chunks_of_any_size_give_the_same_bits(tiny, kv, seed):
    """A row reads each key and value as the cache holds it, those of its own chunk too."""
    model, rng = int8(tiny.model, kv=kv), random.Random(seed)
    tokens = [rng.randrange(250) for _ in range(rng.randrange(300, 500))]

    def read(sizes: Iterator[int]) -> tuple[Tensor, Cache]:
        cache, found = model.new_cache(), []
        while cache.length < len(tokens):
            rows = Rows()
            rows.add_clean(tokens[cache.length :][: next(sizes)], cache.length)
            found.append(model.forward([(cache, rows)]))
            cache.length += len(rows)
        return torch.cat(found), cache

    one_by_one, expected = read(iter(lambda: 1, 0))
    at_random, cache = read(iter(lambda: rng.choice([1, 2, 7, 40, 128]), 0))
    assert torch.equal(at_random, one_by_one)
    for held, alone in zip(cache._stored, expected._stored, strict=True):
        assert torch.equal(held[:, :, :, : len(tokens)], alone[:, :, :, : len(tokens)])


def with_large_keys(dense: Model) -> Qwen2:
    """A copy of the model in which some channels of keys have large biases, as in Qwen2."""
    assert isinstance(dense, Qwen2)
    other = copy.deepcopy(dense)
    for layer in other.weights.layers:
        layer.qkv_bias[dense.shape.heads * dense.shape.head_dim :][3] += 40
    return other


def test_balanced_keys_change_no_bit_of_what_floats_say(tiny, monkeypatch):
    dense, tokens = with_large_keys(tiny.model), list(range(40, 140))
    exact = logits(int8(dense, kv=FLOAT32), tokens)
    monkeypatch.setattr(rotate, "balance", lambda layer, shape: torch.ones(shape.qkv))
    assert torch.equal(logits(int8(dense, kv=FLOAT32), tokens), exact)


def test_balanced_keys_lose_less_in_int8(tiny, monkeypatch):
    shape = replace(tiny.model.shape, dim=128, head_dim=64)
    layer = Weights.random(shape).layers[0]
    layer.qkv_bias[shape.heads * shape.head_dim :][[3, 20, 21]] += 200
    x = F.normalize(torch.randn(300, shape.dim, generator=torch.Generator().manual_seed(0))) * shape.dim**0.5

    def error() -> float:
        """Of the products of queries and keys, root mean square."""
        turned = rotate.rotate_layer(layer, torch.eye(shape.dim), shape)
        qkv = F.linear(x, turned.qkv, turned.qkv_bias).unflatten(1, (-1, shape.head_dim))
        q, k = hadamard(qkv[:, 0]), hadamard(qkv[:, shape.heads])
        return float((q @ INT8.load(INT8.store(k)).T - q @ k.T).square().mean().sqrt())

    balanced = error()
    monkeypatch.setattr(rotate, "balance", lambda layer, shape: torch.ones(shape.qkv))
    assert balanced < error() / 2


@pytest.mark.parametrize(("kv", "share"), [(INT8, 0.26), (INT4, 0.14)], ids=["int8", "int4"])
def test_the_memory_of_a_session(kv, share):
    """And 32,768 tokens of the 0.5B model take at most 220 MB."""
    shape = Architecture(24, 896, 14, 2, 64, 4864, 151_936, 1e6, 1e-6)
    cache, floats = Cache(shape, kv), Cache(shape, FLOAT32)
    assert cache.bytes <= share * floats.bytes
    assert cache.bytes_of(32_768) <= 220e6
    assert cache.bytes == sum(held.nbytes for held in cache._stored)


@pytest.mark.model
def test_real_int8_agrees_with_float32(real, gguf):
    from dlsp import paths

    engine = Engine.load(gguf, paths.cache_dir(), dtype="int8")
    text = "import json\n\n\ndef load(path):\n    with open(path) as file:\n        return json.load(file)\n\n\n"
    text += "def save(path, value):\n    with open(path, 'w') as file:\n        json.dump(value, file, indent=2)\n"
    tokens = real.tokenizer.encode(text)
    exact, found = (logits(model, tokens, canvases=0) for model in (real.model, engine.model))
    assert (exact.argmax(1) == found.argmax(1)).float().mean() >= 0.95
    log_p, log_q = exact.log_softmax(1), found.log_softmax(1)
    assert (log_p.exp() * (log_p - log_q)).sum(1).mean() < 0.02
    gap = Gap("def add(a, b):\n    return ", "\n\nprint(add(1, 2))\n")
    fills = [engine.fill(gap, Options(mode=mode, end="line")) for mode in ("autoregressive", "verified")]
    assert [fill.text for fill in fills] == ["a + b", "a + b"]


def test_an_adapter_that_forgot_its_updates_is_known_to_have_had_some():
    """Drafts are expected to be accepted: the quantised model has the updates."""
    shape = Architecture(layers=2, dim=32, heads=4, kv_heads=2, head_dim=8, ff=48, vocab=262, theta=1e4, eps=1e-6)
    adapter = Adapter.random(shape)
    adapter.forget_updates()
    assert not any(adapter.layers)
    assert adapter.has_updates
    assert not Adapter.none(torch.zeros(262, 32), shape).has_updates
