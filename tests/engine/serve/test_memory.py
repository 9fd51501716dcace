import ctypes
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from dlsp_engine import EngineError, Gap, Options
from dlsp_engine.serve import memory
from dlsp_engine.serve import scheduler as scheduling
from dlsp_engine.serve.memory import kv_budget
from dlsp_engine.serve.scheduler import Ticket
from tests.engine.serve.conftest import SlowEngine

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


LEFT = """
import ctypes, psutil
from dlsp_engine.serve.memory import return_freed_memory
malloc, free = ctypes.CDLL(None).malloc, ctypes.CDLL(None).free
malloc.restype, malloc.argtypes, free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
resident = psutil.Process().memory_info
blocks = [malloc(1 << 16) for _ in range(1 << 10)]
for block in blocks:
    ctypes.memset(block, 1, 1 << 16)
full = resident().rss
for block in blocks[:-1]:  # the last one keeps glibc from returning those before it
    free(block)
kept = resident().rss
return_freed_memory()
print(full - kept, kept - resident().rss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc only")
def test_what_loading_took_for_a_while_goes_back_to_the_system():
    out = subprocess.run([sys.executable, "-c", LEFT], capture_output=True, text=True, check=True).stdout
    by_itself, returned = map(int, out.split())
    assert by_itself < 10 << 20
    assert returned > 50 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="glibc only")
@pytest.mark.parametrize(("every_s", "returned"), [(0.0, True), (60.0, False)])
def test_what_requests_took_goes_back_while_others_are_answered(
    engine: SlowEngine, monkeypatch: pytest.MonkeyPatch, every_s: float, returned: bool
):
    malloc, free = ctypes.CDLL(None).malloc, ctypes.CDLL(None).free
    malloc.restype, malloc.argtypes, free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    monkeypatch.setattr(scheduling, "RETURN_S", every_s)
    scheduler = scheduling.Scheduler(engine)
    blocks = [malloc(1 << 16) for _ in range(1 << 10)]
    for block in blocks:
        ctypes.memset(block, 1, 1 << 16)
    for block in blocks[:-1]:
        free(block)
    kept = psutil.Process().memory_info().rss
    ended = threading.Event()
    scheduler.submit(Ticket(Gap("a", ""), Options(max_tokens=4), 0, lambda _: None, lambda _: ended.set(), "", 0))
    assert ended.wait(30)
    scheduler.close()
    scheduler.join()
    after = psutil.Process().memory_info().rss
    free(blocks[-1])  # kept glibc from returning those before it
    assert (kept - after > 30 << 20) is returned


@pytest.mark.parametrize(
    ("machine", "container", "bytes_"),
    [
        (2 * 10**9, None, 256_000_000),
        (8 * 10**9, None, 500_000_000),
        (8 * 10**9, "max\n", 500_000_000),
        (256 * 10**9, None, 2_000_000_000),
        (256 * 10**9, "16000000000\n", 1_000_000_000),
    ],
)
def test_keys_and_values_take_a_share_of_what_the_machine_or_the_container_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: int, container: str | None, bytes_: int
):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"total": machine}))
    monkeypatch.setattr(memory, "CGROUP_LIMIT", tmp_path / "memory.max")
    if container:
        memory.CGROUP_LIMIT.write_text(container)
    assert kv_budget("") == bytes_


def test_a_setting_or_a_device_says_otherwise():
    assert kv_budget("16") == 16_000_000
    assert kv_budget("", 8 * 10**9) == 4 * 10**9
    assert kv_budget("500", 8 * 10**9) == 500_000_000
    for wrong in ("15", "much", "-1", "1e3", "\u0661\u0662\u0663", "99999999"):
        with pytest.raises(EngineError, match="DLSP_KV_MB must be a whole number"):
            kv_budget(wrong)
