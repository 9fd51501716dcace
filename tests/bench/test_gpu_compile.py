"""What a GPU is to run compiles for it, and waits for the kernels before."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

KERNELS = """
import triton
import triton.language as tl

from dlsp_kernels.overlap import wait


@triton.jit
def patient(x, y):
    wait()
    tl.store(y, tl.load(x) + 1)


@triton.jit
def hasty(x, y):
    one = tl.load(x)
    wait()
    tl.store(y, one + 1)
"""

SHOW = """
import torch
from bench.gpu.compile import compiled, waits_first
from two.kernels import hasty, patient
x = torch.zeros(1)
for kernel in (patient, hasty):
    for name, binary in compiled(90, lambda: kernel[(1,)](x, x)):
        print(name.split()[0], waits_first(binary))
"""


def run(words: Sequence[str], path: str = "") -> str:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (path, os.environ.get("PYTHONPATH", ""))))
    command = [sys.executable, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_small_heads_compile():
    """The interpreter runs what Triton refuses: a name that changes its shape in a loop, as here once."""
    assert "paged_attention._kernel" in run(["-m", "bench.gpu.compile", "--shapes", "--checks", "paged_attention"])


def test_every_kernel_of_a_step_waits_before_it_touches_memory():
    options = ["--shapes", "tiny", "--dtypes", "bfloat16", "--formats", "dense", "--rows", "5"]
    output = run(["-m", "bench.gpu.compile", *options])
    for kernel in (
        "embed._kernel",
        "qkv_rope_write._kernel",
        "gated_linear._kernel",
        "paged_attention._join",
    ):
        assert kernel in output


def test_a_kernel_that_reads_before_it_waits_is_seen(tmp_path: Path):
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "kernels.py").write_text(KERNELS)
    assert run(["-c", SHOW], str(tmp_path)) == "two.patient True\ntwo.hasty False\n"
