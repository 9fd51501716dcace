"""The way to a lent GPU and back, rehearsed on the CPU with a tiny model: pack, keep, start, wait, join."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from tokenizers.pre_tokenizers import ByteLevel

from bench.gpu import pack
from dlsp_engine.model import convert
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.update import sha256
from dlsp_engine.model.weights import Weights
from dlsp_engine.train import checkpoint, fill_samples, samples
from tests.engine import gguf_file
from tests.engine.train.test_base import RECIPE as GAPS
from tests.engine.train.test_edits import RECIPE as WINDOWS
from tests.engine.train.test_edits import mined as mined

ROOT = Path(__file__).parents[3]
# The real one: how much of a file its embedding is.
VOCAB = 151_936


def write_tokenizer(folder: Path) -> None:
    """One token a byte, and those of gaps and files."""
    folder.mkdir()
    alphabet = {char: number for number, char in enumerate(sorted(ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=alphabet, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    gaps = [f"<|fim_{part}|>" for part in ("prefix", "suffix", "middle")]
    tokenizer.add_special_tokens(["<|endoftext|>", *gaps, "<|repo_name|>", "<|file_sep|>"])
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
        "PROBE_SECONDS": "1200",  # a busy machine
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
    keep(parts, work, out)
    call("unpack", work=work, out=out)
    assert (work / "pack/weights/weights.safetensors").is_file()
    log = trained(f"{recipe} --judge-rows 2", work, out)
    assert re.search(r"cosine 0\.99.*\n.*plain: first step .* loss", log), log
    assert re.search(r"rows a second: plain [1-9]\d*, compiled \d", log), log

    weights, brought = work / "pack" / "weights", joined(checkpoint.ADAPTER, tmp_path, out)
    architecture = Weights.load(weights, torch.bfloat16).architecture
    adapter = Adapter.load(brought, "tiny.gguf", architecture, torch.bfloat16)
    assert adapter.metadata["base_sha256"] == sha256(base)
    assert adapter.metadata["steps"] == "5"
    monkeypatch.setattr(convert, "_tokenizer", lambda path, target: target.write_text("{}"))
    whole = Weights.load(convert.converted(base, tmp_path / "cache", lambda line: None), torch.bfloat16)
    assert torch.equal(whole.embedding, Weights.load(weights, torch.bfloat16).embedding), "only the spare copy stays"


@pytest.mark.prove
@pytest.mark.timeout(3600)
def test_both_updates_there_and_back(corpus: Path, mined: Path, tmp_path: Path):
    """The infill update, then the edit update of the base with it, each from gaps that were made before."""
    base, tokenizer, out = tmp_path / "tiny.gguf", tmp_path / "tokenizer", tmp_path / "out"
    gguf_file.write(base, layers=1, dim=16, ff=24, vocab=VOCAB, kind=np.float16)
    write_tokenizer(tokenizer)
    (tmp_path / "gaps.json").write_text(replace(GAPS, rank=2, tokens=1024).to_json())
    (tmp_path / "windows.json").write_text(replace(WINDOWS, rank=2, longest=2000).to_json())
    sources = {
        checkpoint.UPDATE: f"--recipe {tmp_path}/gaps.json",
        checkpoint.EDIT_UPDATE: f"--recipe {tmp_path}/windows.json --edits {mined} --held-out {mined}",
    }
    update: Path | None = None
    for name, source in sources.items():
        made, parts, work = (tmp_path / f"{each}-{name}" for each in ("made", "parts", "work"))
        common = f"--corpus {corpus} --weights {tokenizer} --tokens 12000 --held-out-gaps 1 --out {made}"
        assert fill_samples.main([*source.split(), *common.split()]) == 0
        assert pack.pack(base, tokenizer / "tokenizer.json", made, parts, part_bytes=3_000_000, update=update) > 1
        if not update:
            call(
                "probe",
                *f"--device cpu --shape tiny --steps 2 --fills {tmp_path}/gaps.json".split(),
                work=work,
                out=out,
            )
        keep(parts, work, out)
        log = trained("", work, out)
        assert update or re.search(r"cosine 0\.99.*\n.*plain: .*\n(.*\n)*rows a second: plain [1-9]", log), log
        brought = joined(name, tmp_path, out)
        with safe_open(brought, "pt") as file:
            said = file.metadata()
        assert (said["base_sha256"], said["steps"]) == (sha256(base), "5")
        assert said.get("update_sha256") == (sha256(update) if update else None)
        update = brought


def keep(parts: Path, work: Path, out: Path) -> None:
    for part in sorted(parts.iterdir()):
        call("keep", part, work=work, out=out)


def trained(options: str, work: Path, out: Path) -> str:
    """Start and wait until it is done: five steps, whatever the minutes. Returns the log."""
    call("start", "30", *f"--device cpu --steps 5 {options} --every-step".split(), work=work, out=out)
    said = "still training"
    while "still training" in said:  # a busy machine takes more than one wait
        said = call("wait", "240", work=work, out=out)
    assert "done, status 0" in said, said
    assert len(list(out.iterdir())) <= 8
    return (out / "train.log").read_text()


def joined(name: str, folder: Path, out: Path) -> Path:
    path = folder / name
    path.write_bytes(b"".join(part.read_bytes() for part in sorted(out.glob(f"{name}.part-*"))))
    hashes = out / name.replace(".safetensors", ".sha256")
    subprocess.run(["sha256sum", "-c", hashes], cwd=folder, check=True)
    return path


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
