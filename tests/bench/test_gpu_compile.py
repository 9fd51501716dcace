"""What a GPU is to check compiles for it."""

import os
import subprocess
import sys


def test_small_heads_compile():
    """The interpreter runs what Triton refuses: a name that changes its shape in a loop, as here once."""
    command = [sys.executable, "-m", "bench.gpu.compile", "--shapes", "--checks", "paged_attention"]
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    told = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "paged_attention._kernel" in told.stdout
