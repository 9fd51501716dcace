"""Programs may compute and nothing else. The tests `around_the_guard` go past Python's by way of ctypes."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from bench.quality import sandbox
from bench.quality.sandbox import Limits, run

OWN_MB = 257  # tells these programs from those that other tests run at the same time
QUICK = Limits(cpu_s=1, wall_s=30, memory_mb=OWN_MB)
BRIEF = Limits(cpu_s=1, wall_s=2, memory_mb=OWN_MB)  # for what does not end by itself
LIBC = "import ctypes, errno, os, time\nlibc = ctypes.CDLL(None, use_errno=True)\n"

linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's layers are Linux's")


def left_over() -> list[str]:
    """The processes of this clone's jail for OWN_MB. Read from /proc, because `ps` cuts its lines at COLUMNS."""
    jail, found = {os.fsencode(sandbox.JAIL), b"%d" % (OWN_MB << 20)}, []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it ended meanwhile
            if jail <= set(command.read_bytes().split(b"\0")):
                found.append(command.parent.name)
    return found


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("assert sorted([2, 1]) == [1, 2]", "passed"),
        ("import collections, decimal, hashlib, heapq, json, math, re, typing, zipfile", "passed"),
        ("print('x' * 1_000_000)", "passed"),
        ("import sys\nassert not any('jail' in folder for folder in sys.path)", "passed"),
        ("assert False", "AssertionError"),
        ("def broken(", "SyntaxError"),
        ("def f(): return f()\nf()", "RecursionError"),
        ("input()", "EOFError"),
        ("raise SystemExit(0)", "SystemExit"),
        ("import os\nos._exit(0)", "killed"),
        ("import os\nos.abort()", "killed"),
        ("'\ud800'", "SyntaxError"),
    ],
)
def test_only_a_program_that_came_to_its_end_has_passed(program, why):
    assert run(program, QUICK).why == why
    assert run(program, QUICK).passed == (why == "passed")


def test_an_endless_loop_is_ended():
    began = time.monotonic()
    assert run("while True: pass", Limits(cpu_s=1, wall_s=60)).why == "timeout"
    assert time.monotonic() - began < 30


def test_a_loop_that_swallows_every_exception_is_ended():
    swallowing = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True:\n try: pass\n except: pass"
    assert run(swallowing, BRIEF).why == "timeout"


def test_a_sleeper_is_ended_and_nothing_of_it_left():
    began = time.monotonic()
    assert run("import time\ntime.sleep(600)", Limits(wall_s=1, memory_mb=OWN_MB)).why == "timeout"
    assert time.monotonic() - began < sandbox.GRACE_S
    assert not (sys.platform == "linux" and left_over())


def test_a_memory_hog_is_ended():
    assert run("hog = [bytearray(1 << 20) for _ in range(1 << 20)]", QUICK).why == "MemoryError"


@pytest.mark.parametrize(
    "deed",
    [
        "open('file', 'w')",
        "open({path!r}, 'a')",
        "import os\nos.remove({path!r})",
        "import os\nos.rename({path!r}, {path!r} + '2')",
        "import shutil\nshutil.rmtree(os.path.dirname({path!r}))",
        "import pathlib\npathlib.Path({path!r}).write_text('')",
    ],
)
def test_files_are_left_alone(tmp_path, deed):
    path = tmp_path / "precious"
    path.write_text("kept")
    tmp_path.chmod(0o777)
    path.chmod(0o666)
    assert run("import os\n" + deed.format(path=str(path)), QUICK).why == "PermissionError"
    assert path.read_text() == "kept"
    assert [each.name for each in tmp_path.iterdir()] == ["precious"]


@pytest.mark.parametrize(
    "deed",
    [
        "import socket\nsocket.socket()",
        "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:1')",
        "import os\nos.fork()",
        "import os\nos.system('true')",
        "import subprocess\nsubprocess.run(['true'])",
        "import os\nos.kill(os.getppid(), 9)",
    ],
)
def test_no_network_and_no_other_process(deed):
    assert run(deed, QUICK).why in {"PermissionError", "URLError"}


@pytest.mark.parametrize("deed", ["open({path!r}, 'a')", "os.remove({path!r})", "os.rename({path!r}, 'x')"])
def test_the_guard_alone_leaves_files_alone(tmp_path, deed):
    path = tmp_path / "precious"
    path.write_text("kept")
    code = f"import os, guard\nguard.install()\n{deed.format(path=str(path))}"
    done = subprocess.run([sys.executable, "-c", code], cwd=sandbox.JAIL, capture_output=True, check=False)
    assert b"PermissionError: the sandbox refuses" in done.stderr
    assert path.read_text() == "kept"


@linux
def test_around_the_guard_files_are_left_alone(tmp_path):
    if ctypes.CDLL(None).syscall(444, None, 0, 1) < 1:
        pytest.skip("this kernel has no Landlock")
    path = tmp_path / "precious"
    path.write_text("kept")
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o777)
    path.chmod(0o666)
    name = str(path).encode()
    attempts = (
        f"assert libc.open({name!r}, os.O_RDONLY) >= 0, 'the file must be within reach'\n"
        f"assert libc.open({name!r}, os.O_WRONLY) == -1\n"
        f"assert libc.open({name + b'2'!r}, os.O_WRONLY | os.O_CREAT, 0o666) == -1\n"
        f"assert libc.truncate({name!r}, ctypes.c_long(0)) == -1\n"
        f"assert libc.unlink({name!r}) == -1\n"
        f"assert libc.execv(b'/bin/true', (ctypes.c_char_p * 2)(b'true', None)) == -1\n"
    )
    assert run(LIBC + attempts, QUICK).why == "passed"
    assert path.read_text() == "kept"


@linux
def test_around_the_guard_there_is_no_network():
    if subprocess.run(["unshare", "-n" if os.geteuid() == 0 else "-Un", "true"], check=False).returncode:
        pytest.skip("namespaces are not permitted here")
    # A datagram to an address that any machine with a network has a way to.
    attempt = (
        "import struct\n"
        "address = struct.pack('=HHIQ', 2, 9, 0x01010101, 0)\n"
        "sent = libc.sendto(libc.socket(2, 2, 0), b'x', 1, 0, address, 16)\n"
        "assert sent == -1 and ctypes.get_errno() == errno.ENETUNREACH\n"
    )
    assert run(LIBC + attempt, QUICK).why == "passed"


@linux
def test_around_the_guard_no_process_is_made():
    bomb = "made = [libc.fork() for _ in range(20)]\nassert set(made) == {-1}\n"
    assert run(LIBC + bomb, QUICK).why == "passed"


@linux
def test_around_the_guard_no_process_outside_is_reached():
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        reach = f"assert libc.kill({sleeper.pid}, 9) == -1\nassert libc.kill({os.getpid()}, 9) == -1\n"
        assert run(LIBC + reach, QUICK).why == "passed"
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()


@linux
def test_a_program_that_leaves_its_group_ends_with_the_rest():
    assert run(LIBC + "libc.setsid()\ntime.sleep(600)", BRIEF).why == "timeout"
    assert left_over() == []


@linux
def test_a_program_ends_when_the_bench_is_killed():
    code = f"from bench.quality.sandbox import *\nrun('import time\\ntime.sleep(600)', Limits(memory_mb={OWN_MB}))"
    bench = subprocess.Popen([sys.executable, "-c", code])
    wait_until(lambda: len(left_over()) == 2)
    bench.send_signal(signal.SIGKILL)
    bench.wait()
    wait_until(lambda: left_over() == [])


def test_the_layers_say_what_contains_a_program():
    assert sandbox.layers()[:2] == ("limits", "guard")


def wait_until(holds) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, f"left: {left_over()}"
        time.sleep(0.05)
