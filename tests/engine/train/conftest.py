"""A tiny base, a tiny corpus and samples of it: training in seconds."""

import json
import random
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.weights import Weights
from dlsp_engine.text.tokenizer import ByteTokenizer
from dlsp_engine.train import samples
from dlsp_engine.train.corpus import shards
from dlsp_engine.train.corpus.ledger import Entry

SMALL = Architecture(layers=2, dim=64, heads=4, kv_heads=2, head_dim=16, ff=96, vocab=262, theta=1e4, eps=1e-6)


@pytest.fixture(autouse=True)
def _one_thread(one_thread: None) -> None: ...


def module(seed: int) -> str:
    """A small file with definitions, blocks and lines worth a gap."""
    rng = random.Random(seed)
    parts = ["import os\n\n"]
    for number in range(6):
        name = rng.choice(("load", "store", "parse", "render"))
        parts.append(f"def {name}_{number}(path, value={rng.randrange(99)}):\n    total = value\n")
        parts.append("    for line in open(path):\n        if line.strip():\n            total += len(line)\n")
        parts.append(f"    return total * {rng.randrange(9)}\n\n\n")
    return "".join(parts)


def write_corpus(folder: Path) -> Path:
    """Four packages of three files, one of them held out."""
    folder.mkdir()
    entries: list[Entry] = []
    for number in range(4):
        split = "heldout" if number == 3 else "train"
        rows: list[shards.Row] = [
            {
                "text": module(10 * number + file),
                "path": f"p{number}/m{file}.py",
                "package": f"p{number}",
                "version": "1",
                "language": "python",
                "licence": "MIT",
                "split": split,
            }
            for file in range(3)
        ]
        shard, end = shards.append(folder, entries, split, rows)
        entries.append(Entry("python", "pypi", f"p{number}", "1", split, shard=shard, end=end))
    (folder / "manifest.json").write_text(json.dumps({"hash": "abc"}))
    return folder


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("train") / "corpus")


@pytest.fixture(scope="session")
def small_samples(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of 256 bytes."""
    out = tmp_path_factory.mktemp("train") / "samples"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples, "HELD_OUT_ROWS", 8)
        samples.build(corpus, out, ByteTokenizer(), tokens=40 * 256, length=256, seed=0)
    return out


def tensors(weights: Weights) -> dict[str, torch.Tensor]:
    """As the converted file names them."""
    named = {"embedding": weights.embedding, "norm": weights.norm}
    for i, layer in enumerate(weights.layers):
        for name in ("qkv", "out", "gate_up", "down"):
            named[f"layers.{i}.{name}.weight"] = getattr(layer, name)
        named[f"layers.{i}.qkv.bias"] = layer.qkv_bias
        named[f"layers.{i}.attention_norm"] = layer.attention_norm.clone()
        named[f"layers.{i}.mlp_norm"] = layer.mlp_norm.clone()
    return {name: tensor.clone() for name, tensor in named.items()}


@pytest.fixture(scope="session")
def small(request: pytest.FixtureRequest) -> Weights:
    """Of the sizes that a test gives, else SMALL."""
    return Weights.random(getattr(request, "param", SMALL))


@pytest.fixture(scope="session")
def small_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A converted random model, as `model.convert` leaves it."""
    folder = tmp_path_factory.mktemp("train") / "weights"
    folder.mkdir()
    named = tensors(Weights.random(SMALL))
    save_file(named, folder / "weights.safetensors", metadata={"architecture": SMALL.to_json(), "source": "small.gguf"})
    return folder
