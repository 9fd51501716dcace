"""The engine as a process of its own, on a tiny model."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dlsp_engine.errors import MEMORY, Damaged, EngineError
from dlsp_engine.serve import process
from tests.engine.serve.conftest import asking

MAIN = '''
import sys
import time
from dlsp_engine import Engine, __main__
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.weights import Weights
from dlsp_engine.serve import process
from dlsp_engine.text.tokenizer import ByteTokenizer

class Slow(Engine):
    """As slow as a large model."""

    def step(self, requests, sharing=None, short=False):
        time.sleep(0.1)
        return super().step(requests, sharing, short)

class Endless(ByteTokenizer):
    """What is asked is not answered before the signal comes, however long that takes."""

    stops = frozenset()

shape = Architecture(layers=2, dim=32, heads=4, kv_heads=2, head_dim=8, ff=48, vocab=262, theta=1e4, eps=1e-6)
process.load = lambda *_: Slow(Qwen2(Weights.random(shape), Adapter.random(shape)), Endless())
sys.exit(__main__.main())
'''


SERVE = ["serve", "--model", "m", "--gguf", "m.gguf", "--threads", "1"]


@pytest.mark.skipif(sys.platform == "win32", reason="processes are ended at once there")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_an_engine_that_is_stopped_answers_who_waits_and_leaves_no_state_file(tmp_path: Path, name: str):
    command = [sys.executable, "-c", MAIN, *SERVE, "--cache", str(tmp_path), "--state", str(tmp_path)]
    empty = {**os.environ, "DLSP_DEVICE": ""}  # as if it were not set
    engine = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=empty, umask=0)
    file = tmp_path / "engine-m.json"
    try:
        deadline = time.monotonic() + 60
        while not file.exists():
            assert engine.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert not [each for each in tmp_path.iterdir() if each.stat().st_mode & 0o077], "all of it is the user's alone"
        state = json.loads(file.read_text())
        client = asking(state["address"], state["token"])
        long = {"gaps": [{"prefix": "a", "suffix": ""}] * 8, "max_tokens": 1024, "temperature": 4}
        with client, client.stream("POST", "/v1/infill", json=long, timeout=20) as answer:
            lines = answer.iter_lines()
            next(lines)
            os.kill(engine.pid, signal.Signals[name])
            assert "ending" in list(lines)[-1]
        assert engine.wait(20) == 0
        assert not file.exists()
        assert engine.communicate()[1] == "", "it is no error"
    finally:
        engine.kill()
        engine.wait()


def woken(pid: int) -> int:
    """How often the threads of a process went to sleep and were woken, so far."""
    told = [(task / "status").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    return sum(int(re.findall(r"^voluntary_ctxt_switches:\t(\d+)", each, re.MULTILINE)[0]) for each in told)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts them in files")
def test_an_idle_engine_wakes_less_than_once_in_two_seconds(tmp_path: Path):
    """Also with a connection open, after a request."""
    command = [sys.executable, "-c", MAIN, *SERVE, "--cache", str(tmp_path), "--state", str(tmp_path)]
    engine = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    file = tmp_path / "engine-m.json"
    try:
        deadline = time.monotonic() + 60
        while not file.exists():
            assert engine.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        state = json.loads(file.read_text())
        with asking(state["address"], state["token"]) as client:
            body = {"gaps": [{"prefix": "a", "suffix": ""}], "max_tokens": 2}
            before = woken(engine.pid)
            assert client.post("/v1/infill", json=body).status_code == 200
            assert woken(engine.pid) > before, "what is counted here happens"
            time.sleep(1.5)
            before = woken(engine.pid)
            time.sleep(9)
            assert woken(engine.pid) - before < 4.5
    finally:
        engine.kill()
        engine.wait()


def test_an_engine_that_memory_lacks_for_says_so(tmp_path: Path):
    code = "import sys; from dlsp_engine import __main__; from dlsp_engine.serve import process; "
    code += "process.load = lambda *_: bytes(2**62); sys.exit(__main__.main())"
    command = [sys.executable, "-c", code, *SERVE, "--cache", str(tmp_path), "--state", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, f"{MEMORY}\n")


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (Damaged("weights are damaged."), True),
        (EngineError("The GPU has too little free memory."), False),
        (EngineError("The int8 weights could not be written (No space left on device)."), False),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), False),
    ],
)
def test_only_what_is_damaged_is_converted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, again: bool
):
    """It takes a minute and a gigabyte, and a full disk stays full."""
    gguf = tmp_path / "m.gguf"
    gguf.touch()
    (folder := tmp_path / "converted").mkdir()
    monkeypatch.setattr(process, "converted", lambda *_, **_more: folder)
    calls: list[Path] = []

    def load(gguf: Path, cache: Path, dtype: str, device: str, infill_update: bool, edit_format: str) -> str:
        calls.append(gguf)
        if len(calls) == 1:
            raise error
        return "an engine"

    monkeypatch.setattr(process.Engine, "load", load)
    if again:
        assert process.load(gguf, tmp_path, "auto", "cpu") == "an engine"
    else:
        with pytest.raises(type(error), match=str(error)[:20]):
            process.load(gguf, tmp_path, "auto", "cpu")
    assert folder.exists() != again
