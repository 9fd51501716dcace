"""Each family from each format of files on each backend: logits against those of transformers. docs/models.md has the
table.
"""

import copy
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dlsp_engine.engine import Engine
from dlsp_engine.errors import EngineError
from dlsp_engine.model import convert, int8_file
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.families import FAMILIES
from dlsp_engine.model.gpu.step import GpuQwen2
from dlsp_engine.model.int8 import Int8Qwen2
from dlsp_engine.model.qwen2 import Model, Qwen2
from dlsp_engine.model.rows import Rows
from dlsp_engine.model.source import Description, StoredWeights
from dlsp_engine.model.weights import Weights
from dlsp_kernels.int8_linear.compiled import Compiled
from dlsp_kernels.int8_linear.kinds import best
from tests.engine import as_gguf

pytestmark = pytest.mark.usefixtures("no_tokenizer", "one_thread")

TEXT = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4]
DOCUMENTED = Path(__file__).parents[2] / "docs/models.md"
needs_int8 = pytest.mark.skipif(best() is None, reason="no int8 matmul here")


@pytest.fixture
def no_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    made = SimpleNamespace(save=lambda path: Path(path).write_text("{}"))
    for name in ("tokenizer_from_gguf", "tokenizer_from_folder"):
        monkeypatch.setattr(convert, name, lambda *_: made)


def gguf(folder: Path, made: Any, family: str) -> Path:
    as_gguf.write(folder / "m.gguf", made, family)
    return folder / "m.gguf"


def safetensors(folder: Path, made: Any, family: str) -> Path:
    copy.deepcopy(made).save_pretrained(folder / "m")
    return folder / "m"


def dense(checkpoint: Path, cache: Path, dtype: torch.dtype = torch.float32) -> Qwen2:
    return Qwen2(Weights.load(convert.converted(checkpoint, cache, lambda line: None), dtype))


def bfloat16(checkpoint: Path, cache: Path) -> Qwen2:
    return dense(checkpoint, cache, torch.bfloat16)


def integers(checkpoint: Path, cache: Path, sample: Callable[[], torch.Tensor] | None) -> Int8Qwen2:
    folder, kind = convert.converted(checkpoint, cache, lambda line: None, dense=False), best()
    assert kind
    weights = StoredWeights(checkpoint, Description.load(folder / convert.ABOUT), None)
    adapter = Adapter.none(weights.embedding, weights.architecture)
    return Int8Qwen2(weights, adapter, int8_file.stored(folder, weights, adapter, kind, lambda line: None, sample))


def int8(checkpoint: Path, cache: Path) -> Int8Qwen2:
    return integers(checkpoint, cache, None)


def int4(checkpoint: Path, cache: Path) -> Int8Qwen2:
    return integers(checkpoint, cache, lambda: torch.randint(0, 262, (4, 64), generator=torch.manual_seed(0)))


def gpu(checkpoint: Path, cache: Path) -> GpuQwen2:
    """By the kernels, in Triton's interpreter."""
    return GpuQwen2(dense(checkpoint, cache).weights, None, "cpu", fused=True, pages=8)


# By the words of the table's columns: what loads a checkpoint, and how far its logits may be from those in float32.
BACKENDS: dict[str, list[tuple[Callable[[Path, Path], Model], float]]] = {
    "CPU int8": [(int8, 0.05)],
    "CPU bf16, float32": [(bfloat16, 0.03), (dense, 1e-4)],
    "CPU int4": [(int4, 0.5)],
    "GPU": [(gpu, 1e-4)],
}
FORMATS = [gguf, safetensors]
REFUSED = {("qwen3", "CPU int4"), ("starcoder2", "CPU int4")}
CELLS = [
    pytest.param(family, form, load, allowed, id=f"{family}-{form.__name__}-{load.__name__}")
    for family, form, (column, ways) in product(FAMILIES, FORMATS, BACKENDS.items())
    if (family, column) not in REFUSED
    for load, allowed in ways
]


def difference(model: Model, theirs: Any) -> float:
    """Of the logits, relative to their norm."""
    rows = Rows()
    rows.add_clean(TEXT, 0)
    ours = model.head(model.forward([(model.new_cache(), rows)]))
    with torch.inference_mode():
        expected = theirs(torch.tensor([TEXT])).logits[0]
    return float((ours - expected).norm() / expected.norm())


@pytest.mark.parametrize(("family", "form", "load", "allowed"), CELLS)
def test_logits(tmp_path: Path, family: str, form: Callable, load: Callable, allowed: float):
    """With a head of its own, and with the embedding's matrix; the interpreter takes one of them for each format."""
    if load in (int8, int4) and (not best() or (load is int4 and not isinstance(best(), Compiled))):
        pytest.skip("no such matmul here")
    for tied in (True, False) if load is not gpu else (form is gguf,):
        made = as_gguf.model(family, tied)
        (tmp_path / str(tied)).mkdir()
        model = load(form(tmp_path / str(tied), made, family), tmp_path / str(tied))
        assert model.shape.tied == tied
        assert difference(model, made) < allowed
        if isinstance(model, GpuQwen2):
            assert model.failures == {}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("family", sorted({family for family, _ in REFUSED}))
def test_4_bits_without_the_norms_are_refused(tmp_path: Path, family: str, form: Callable):
    checkpoint = form(tmp_path, as_gguf.model(family), family)
    with pytest.raises(EngineError, match=r"4 bits lack the norms|no int8 matmul|No 4-bit kernel"):
        Engine.load(checkpoint, tmp_path, "int4", device="cpu")


def test_the_documented_table_is_what_is_tested():
    lines = [line.strip().strip("|") for line in DOCUMENTED.read_text().splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines]
    start = next(number for number, row in enumerate(rows) if row[0] == "family")
    heads, table = rows[start], rows[start + 2 : start + 2 + len(FAMILIES)]
    found = {(row[0].split(",")[0].lower(), column): row[heads.index(column)] for row in table for column in BACKENDS}
    assert found == {
        (family, column): "refused" if (family, column) in REFUSED else "yes"
        for family in FAMILIES
        for column in BACKENDS
    }
