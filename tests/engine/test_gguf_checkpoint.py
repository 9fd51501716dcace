"""What a GGUF file says of its model: heads of their own, and what is refused before anything is converted."""

import re
from collections.abc import Callable
from pathlib import Path

import gguf as gguf_format
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from bench.as_transformers import configuration, named
from dlsp_engine.errors import EngineError
from dlsp_engine.model import convert, int8_file
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.gguf_checkpoint import Gguf
from dlsp_engine.model.int8 import Int8Qwen2
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.rows import Rows
from dlsp_engine.model.source import Description, StoredWeights
from dlsp_engine.model.weights import Weights
from dlsp_kernels.int8_linear.kinds import best
from tests.engine import as_gguf, gguf_file
from tests.engine.test_files import SHAPE, no_tokenizer  # noqa: F401 - a fixture

TEXT = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]


def write(path: Path, tied: bool, change: Callable = lambda tensors: None) -> dict[str, np.ndarray]:
    def smaller(tensors: dict[str, np.ndarray]) -> None:
        """As small as trained weights, and exact in bf16."""
        for name, each in tensors.items():
            tensors[name] = torch.from_numpy(each * each.shape[-1] ** -0.5).bfloat16().float().numpy()
        change(tensors)

    return gguf_file.write(path, SHAPE.layers, SHAPE.dim, SHAPE.ff, SHAPE.vocab, tied=tied, change=smaller)


def logits(model: Qwen2 | Int8Qwen2) -> torch.Tensor:
    rows = Rows()
    rows.add_clean(TEXT, 0)
    return model.head(model.forward([(model.new_cache(), rows)]))


def by_transformers(weights: Weights) -> torch.Tensor:
    from transformers import Qwen2ForCausalLM

    model = Qwen2ForCausalLM(configuration(weights.architecture)).eval()
    model.load_state_dict(named(weights))
    with torch.inference_mode():
        return model(torch.tensor([TEXT])).logits[0]


@pytest.mark.usefixtures("no_tokenizer")
@pytest.mark.parametrize("tied", [True, False])
def test_logits_are_those_of_transformers(tmp_path: Path, tied: bool):
    values = write(tmp_path / "m.gguf", tied)
    weights = Weights.load(convert.converted(tmp_path / "m.gguf", tmp_path), torch.float32)
    assert weights.architecture.tied == tied
    assert torch.equal(weights.embedding, torch.from_numpy(values["token_embd.weight"]))
    assert torch.equal(weights.head, torch.from_numpy(values["output.weight"]))
    expected = by_transformers(weights)
    assert (logits(Qwen2(weights)) - expected).norm() < 1e-4 * expected.norm()


@pytest.mark.usefixtures("no_tokenizer")
@pytest.mark.skipif(best() is None, reason="no int8 matmul here")
def test_int8_has_the_head_of_its_own_too(tmp_path: Path):
    write(gguf := tmp_path / "m.gguf", tied=False)
    folder, kind = convert.converted(gguf, tmp_path, dense=False), best()
    assert kind
    weights = StoredWeights(gguf, Description.load(folder / convert.ABOUT), None)
    adapter = Adapter.none(weights.embedding, weights.architecture)
    model = Int8Qwen2(weights, adapter, int8_file.stored(folder, weights, adapter, kind))
    expected = logits(Qwen2(Weights.load(convert.converted(gguf, tmp_path), torch.float32)))
    assert (logits(model) - expected).norm() < 0.05 * expected.norm()


@pytest.mark.parametrize("kind", ["Q4_0", "Q5_0", "Q8_0", "F16"])
def test_a_matrix_stored_twice_is_one_however_it_was_quantised(tmp_path: Path, kind: str):
    quantisation = gguf_format.GGMLQuantizationType[kind]

    def coarser(tensors: dict[str, np.ndarray]) -> None:
        embedding = gguf_format.quants.quantize(tensors["token_embd.weight"], quantisation)
        tensors["token_embd.weight"] = gguf_format.quants.dequantize(embedding, quantisation).astype(np.float32)

    write(tmp_path / "m.gguf", tied=True, change=coarser)
    found = Gguf(tmp_path / "m.gguf")
    assert found.architecture.tied
    assert found.embedding == "output.weight", "the finer copy"


@pytest.mark.usefixtures("no_tokenizer")
def test_weights_that_an_earlier_version_converted_without_the_head_are_made_again(tmp_path: Path):
    write(gguf := tmp_path / "m.gguf", tied=False)
    folder = convert.converted(gguf, tmp_path)
    tensors = load_file(folder / "weights.safetensors")
    head = tensors.pop("head")
    save_file(tensors, tmp_path / "old", {"architecture": SHAPE.to_json()})
    convert.manifest.publish(tmp_path / "old", folder / "weights.safetensors")
    (folder / convert.ABOUT).unlink()
    weights = Weights.load(convert.converted(gguf, tmp_path), torch.bfloat16)
    assert torch.equal(weights.head, head)


def without(name: str) -> Callable:
    return lambda tensors: tensors.pop(name)


def shaped(name: str, *size: int) -> Callable:
    return lambda tensors: tensors.update({name: np.ones(size, np.float32)})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (without("blk.1.attn_q.bias"), "no tensor blk.1.attn_q.bias"),
        (without("token_embd.weight"), "no tensor token_embd.weight"),
        (shaped("blk.0.ffn_down.weight", 32, 47), r"blk.0.ffn_down.weight has the shape \[32, 47\]"),
        (shaped("output.weight", 71, 32), r"output.weight has the shape \[71, 32\]"),
        (shaped("blk.0.attn_q_norm.weight", 8), "a tensor blk.0.attn_q_norm.weight, which"),
        (shaped("blk.0.ffn_gate_exps.weight", 2, 48, 32), "a tensor blk.0.ffn_gate_exps.weight, which"),
    ],
)
def test_tensors_of_another_model_are_refused(tmp_path: Path, change: Callable, reason: str):
    write(tmp_path / "m.gguf", tied=False, change=change)
    with pytest.raises(EngineError, match=rf"^The engine cannot run m.gguf: .*{reason}.*\.$"):
        convert.converted(tmp_path / "m.gguf", tmp_path)


def test_a_file_of_which_the_half_is_here_says_how_much(tmp_path: Path):
    write(gguf := tmp_path / "m.gguf", tied=True)
    whole = gguf.read_bytes()
    gguf.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(EngineError, match=rf"\(it ends after {len(whole) // 2:,} of ([\d,]+) bytes\)") as refused:
        convert.converted(gguf, tmp_path)
    (wanted,) = re.findall(r"of ([\d,]+) bytes", str(refused.value))
    assert len(whole) - 64 < int(wanted.replace(",", "")) <= len(whole)


@pytest.mark.parametrize("length", [0, 3, 20, 100, 600, 3000])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, length: int):
    write(gguf := tmp_path / "m.gguf", tied=True)
    gguf.write_bytes(gguf.read_bytes()[:length])
    with pytest.raises(EngineError, match=r"m.gguf is damaged or no GGUF file \(.*get the file again.$"):
        convert.converted(gguf, tmp_path)


@pytest.mark.parametrize(("name", "first"), [("Mellum 4b Base", True), ("Granite 3b Code Base", False), (None, False)])
def test_mellum_is_known_by_its_name(tmp_path: Path, name: str | None, first: bool):
    """Its tokens for gaps are StarCoder's, which other models of its family write the other way round."""

    def tokenizer(writer: gguf_format.GGUFWriter, vocab: int) -> None:
        as_gguf.two_letters(writer, vocab)
        if name:
            writer.add_name(name)

    as_gguf.write(path := tmp_path / "m.gguf", as_gguf.model("llama"), "llama", tokenizer=tokenizer)
    assert Gguf(path).architecture.convention.suffix_first == first
