"""What `python -m bench.gpu` says when kernels fail, and that a part that fails leaves the others be."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.gpu import __main__ as gpu
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
    monkeypatch.setattr("sys.argv", ["bench.gpu", "--out", str(tmp_path)])
    assert gpu.main() == 1
    text = (tmp_path / "gpu.txt").read_text()
    assert "FAILED hangs: it took more than 3 s" in text
    assert "FAILED breaks: it ended with status 1\n    no device" in text
    assert "FAILED tires: it took more than 3 s" in text
    assert text.count("x: ms 1.5") == 2, "what a part had found before it was killed counts"
    assert time.monotonic() - began < 6, "parts of a group share their time"


def test_what_no_time_was_left_for_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gpu, "parts", lambda rehearse: [[gpu.Part(("steps", "0.5b"), 60)]])
    gpu.run(rehearse=True, only=(), options=(), seconds=0, scratch=tmp_path, out=tmp_path)
    assert "FAILED steps-0.5b: no time was left for it" in (tmp_path / "gpu.txt").read_text()
