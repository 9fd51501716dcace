import subprocess
import sys

import pytest

HOLES = """
import ctypes, psutil
from dlsp_engine.serve.memory import return_large_blocks
return_large_blocks()
malloc, free = ctypes.CDLL(None).malloc, ctypes.CDLL(None).free
malloc.restype, malloc.argtypes, free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
resident = psutil.Process().memory_info
free(malloc(30 << 20))  # after this glibc would keep blocks of up to 30 MiB
before = resident().rss
blocks = []
for _ in range(16):
    blocks += [malloc(8 << 20), malloc(1 << 16)]
    ctypes.memset(blocks[-2], 1, 8 << 20)
full = resident().rss
for block in blocks[::2]:
    free(block)
print(full - before, resident().rss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc only")
def test_blocks_of_closed_sessions_go_back_to_the_system():
    out = subprocess.run([sys.executable, "-c", HOLES], capture_output=True, text=True, check=True).stdout
    full, after = map(int, out.split())
    assert full > 100 << 20
    assert after < 10 << 20
