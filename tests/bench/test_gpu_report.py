"""What `python -m bench.gpu` says when kernels fail, and that a part that fails leaves the others be."""

import re
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from bench.gpu import __main__ as gpu
from bench.gpu import tree
from bench.gpu.report import report


def test_a_failure_names_the_kernel_and_the_case():
    body = {
        "machine": "a GPU",
        "versions": {},
        "failed": {"steps-7b": {"failed": "it took more than 60 s", "log": ["last words"]}},
        "samples": [
            {"part": "check-embed", "name": "embed: 5 rows", "ok": True, "errors": {"x": 0.0}},
            {"part": "check-lay", "name": "lay: 4 gaps", "ok": False, "failed": "CompilationError: no"},
            {"part": "check-lay", "name": "lay: 64 gaps", "ok": False, "errors": {"token": 0.5}, "tolerance": 0.0},
            {"part": "steps", "name": "0.5b 32 rows", "ms": 0.61234, "of_floor": 2.5},
        ],
    }
    lines = report(body).splitlines()
    assert "FAILED steps-7b: it took more than 60 s" in lines
    assert "    last words" in lines
    assert "WRONG lay: 4 gaps: CompilationError: no" in lines
    assert "WRONG lay: 64 gaps: errors {'token': 0.5}, tolerance 0.0" in lines
    assert "check-embed: 1 of 1 right" in lines
    assert "check-lay: 0 of 2 right" in lines
    assert "0.5b 32 rows: ms 0.6123, x floor 2.5" in lines


def test_a_part_that_fails_or_hangs_leaves_the_others_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found = tmp_path / "found.json"
    found.write_text('{"samples": [{"name": "x", "ms": 1.5}]}')
    began = time.monotonic()
    code = {
        "hangs": "import time; time.sleep(60)",
        "tires": "import shutil, sys, time; shutil.copy(*sys.argv[1:]); time.sleep(60)",
        "breaks": "import sys; sys.exit('no device')",
        "works": "import shutil, sys; shutil.copy(*sys.argv[1:])",
    }
    monkeypatch.setattr(gpu, "parts", lambda rehearse: [[gpu.Part((name,), 3) for name in code]])
    run = subprocess.Popen

    def start(part: gpu.Part, folder: Path, options: object, seconds: float, alone: bool) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-c", code[part.name], found, folder / f"{part.name}.json"]
        return run(command, stderr=(folder / f"{part.name}.log").open("wb"))

    monkeypatch.setattr(gpu, "start", start)
    monkeypatch.setattr("sys.argv", ["bench.gpu", "--out", str(tmp_path), "--rehearse"])
    assert gpu.main() == 1
    text = (tmp_path / "gpu.txt").read_text()
    assert "FAILED hangs: it took more than 3 s" in text
    assert "FAILED breaks: it ended with status 1\n    no device" in text
    assert "FAILED tires: it took more than 3 s" in text
    assert text.count("x: ms 1.5") == 2, "what a part had found before it was killed counts"
    assert time.monotonic() - began < 6, "parts of a group share their time"


def test_what_no_time_was_left_for_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gpu, "parts", lambda rehearse: [[gpu.Part(("steps", "0.5b"), 60)]])
    gpu.run(rehearse=True, begin=(), exact=(), options=(), seconds=0, scratch=tmp_path, out=tmp_path)
    assert "FAILED steps-0.5b: no time was left for it" in (tmp_path / "gpu.txt").read_text()


def sample(name: str, **found: object) -> dict[str, object]:
    return {"part": "any", "name": name, **found}


def test_goals_are_judged_by_the_floor_of_the_run_beside_what_others_publish():
    samples = [
        sample("0.5b dense 1 rows", ms=0.4, of_floor=1.7),
        sample("0.5b dense 32 rows", ms=0.6, of_floor=2.4),
        sample("0.5b verified-4-copy", tau=3.0, tokens_s=2500.0, gap_of_12_ms_p50=6.5, real_weights=True),
        sample("1.5b verified-4-copy", tau=1.0, tokens_s=700.0),
    ]
    text = report({"machine": "a GPU", "versions": {}, "failed": {}, "samples": samples})
    assert "goal reached: 0.5b dense 1 rows: x floor 1.7, at most 1.8" in text
    assert "goal MISSED: 0.5b dense 32 rows: x floor 2.4, at most 2" in text
    assert "goal MISSED: 0.5b verified-4-copy: tokens/s 2500, at least 3000" in text
    assert "goal reached: 0.5b verified-4-copy: 12 tokens ms 6.5, at most 10" in text
    assert "goal, not judged with random weights: 1.5b verified-4-copy: tokens/s at least 1500" in text
    assert "published elsewhere: Mercury Coder Mini, on an H100: 1109 tokens/s" in text
    assert "tau: committed tokens, the end token included, per step of decoding" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bench.gpu", "--out", "out"], "PyTorch sees no NVIDIA GPU here: add --rehearse"),
        (["bench.gpu", "--out", "out", "--rehearse", "--weights", "nowhere"], "There is no nowhere."),
        (["bench.gpu.tree", "--out", "t.tar.gz", "--tree-mb", "0.01"], "more than the 0.01 MB that may travel."),
        (["bench.gpu.tree", "--out", "t.tar.gz", "--call-minutes", "1"], "more than the 1 minutes of a call."),
        (["bench.gpu.tree", "--out", "t.tar.gz", "--file-mb", "0.5"], "more than the 0.5 MB that may come back."),
        (["bench.gpu.tree", "--out", "t.tar.gz", "--files", "1"], "more than the 1 that may come back."),
    ],
)
def test_what_cannot_be_done_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit, match=re.escape(said)):
        import_module(words[0] if words[0].endswith("tree") else "bench.gpu.__main__").main()
    assert list(tmp_path.iterdir()) == []


def test_the_tree_that_travels_has_no_weights_and_each_part_is_in_one_call():
    names = tree.files()
    assert "bench/gpu/__main__.py" in names
    assert not [name for name in names if name.endswith(".safetensors")]
    calls = [*tree.calls(10)]
    every = [part for call in calls for part in call]
    assert len(every) == len(set(every))
    assert {part.name for group in gpu.parts(rehearse=False) for part in group} == set(every)
    assert len(calls) > 1
