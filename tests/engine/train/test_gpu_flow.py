"""The way to a lent GPU and back, rehearsed on the CPU with a tiny model: pack, keep, start, wait, join."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from tokenizers.pre_tokenizers import ByteLevel

from bench.gpu import pack
from dlsp_engine.model import convert
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.weights import Weights
from dlsp_engine.train import checkpoint, samples
from tests.engine import gguf_file

ROOT = Path(__file__).parents[3]
# The real one: how much of a file its embedding is.
VOCAB = 151_936


def write_tokenizer(folder: Path) -> None:
    """One token a byte."""
    folder.mkdir()
    alphabet = {char: number for number, char in enumerate(sorted(ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=alphabet, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.save(str(folder / "tokenizer.json"))


def call(*arguments: str | Path, work: Path, out: Path) -> str:
    """One call to the machine: `out` is empty before it."""
    out.mkdir(exist_ok=True)
    for old in out.iterdir():
        old.unlink()
    environment = os.environ | {
        "DLSP_WORK": str(work),
        "OUT": str(out),
        "PYTHON": sys.executable,
        "OMP_NUM_THREADS": "1",
    }
    command = ["sh", str(ROOT / "bench/gpu/train.sh"), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.prove
@pytest.mark.timeout(3600)  # a whole run with its time limits: minutes, on a busy machine many
def test_there_and_back(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    base, tokenizer, made = tmp_path / "tiny.gguf", tmp_path / "tokenizer", tmp_path / "samples"
    gguf_file.write(base, layers=1, dim=16, ff=24, vocab=VOCAB, kind=np.float16)
    write_tokenizer(tokenizer)
    monkeypatch.setattr(samples, "HELD_OUT_ROWS", 4)
    common = ["--corpus", str(corpus), "--weights", str(tokenizer), "--out", str(made)]
    assert samples.main([*common, "--tokens", "2048", "--length", "128"]) == 0
    parts = tmp_path / "parts"
    count = pack.pack(base, tokenizer / "tokenizer.json", made, parts, part_bytes=2_000_000)
    assert count > 1
    assert sum(path.stat().st_size for path in parts.rglob("part-*")) < base.stat().st_size

    work, out = tmp_path / "work", tmp_path / "out"
    recipe = "--batch 2 --rows 16 --widths 4 --rank 2 --warm-up 1"
    call("probe", *f"--device cpu --shape tiny --steps 4 {recipe}".split(), work=work, out=out)
    for number in range(1, count + 1):
        call("keep", parts / f"{number:02}", work=work, out=out)
    options = f"--device cpu --steps 5 {recipe} --judge-rows 2 --every-step"
    call("unpack", work=work, out=out)
    assert (work / "pack/weights/weights.safetensors").is_file()
    call("start", "30", *options.split(), work=work, out=out)  # minutes: five steps end it
    said = "still training"
    while "still training" in said:  # a busy machine takes more than one wait
        said = call("wait", "240", work=work, out=out)
    assert "done, status 0" in said, said
    log = (out / "train.log").read_text()
    assert re.search(r"cosine 0\.99.*\n.*plain: first step .* loss", log), log
    assert re.search(r"rows a second: plain [1-9]\d*, compiled \d", log), log
    assert len(list(out.iterdir())) <= 8

    joined = tmp_path / checkpoint.ADAPTER
    joined.write_bytes(b"".join(path.read_bytes() for path in sorted(out.glob("adapter.safetensors.part-*"))))
    subprocess.run(["sha256sum", "-c", out / "adapter.sha256"], cwd=tmp_path, check=True)
    weights = work / "pack" / "weights"
    architecture = Weights.load(weights, torch.bfloat16).architecture
    adapter = Adapter.load(joined, "tiny.gguf", architecture, torch.bfloat16)
    with base.open("rb") as file:
        assert adapter.metadata["base_sha256"] == pack.file_digest(file, "sha256").hexdigest()
    assert adapter.metadata["steps"] == "5"
    monkeypatch.setattr(convert, "_tokenizer", lambda path, target: target.write_text("{}"))
    whole = Weights.load(convert.converted(base, tmp_path / "cache", lambda line: None), torch.bfloat16)
    assert torch.equal(whole.embedding, Weights.load(weights, torch.bfloat16).embedding), "only the spare copy stays"


def test_a_damaged_part_is_refused(tmp_path: Path):
    work, folder = tmp_path / "work", tmp_path / "01"
    folder.mkdir()
    (folder / "part-01").write_bytes(b"damaged")
    (folder / "parts.sha256").write_text(f"{'0' * 64}  part-01\n")
    call("keep", folder, work=work, out=tmp_path / "out")
    call("start", "1", work=work, out=tmp_path / "out")
    said = call("wait", "30", work=work, out=tmp_path / "out")
    assert "part-01: FAILED" in said
    assert "done, status 1" in said
