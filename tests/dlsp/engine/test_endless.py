"""Answers without an end, by a process of our own that has gone mad: the client gives up soon, and stays small."""

import itertools
import json
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlsp import __version__
from dlsp.models.catalogue import DEFAULT

MOST_S = 5.0
MOST_BYTES = 100 * 2**20

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")

# Prints how it ended, after how many seconds, and the most memory that it took while it was at it.
CLIENT = """
import asyncio, re, resource, sys, time
from dlsp.engine import launch, state
from dlsp.engine.client import Engine, EngineGone
from dlsp.models.catalogue import DEFAULT
GAPS = {"gaps": [{"prefix": "", "suffix": ""}]}
async def ask():
    if sys.argv[1] == "connect":
        return await launch.connect(DEFAULT)
    async with Engine(state.read(DEFAULT.name)) as engine:
        if sys.argv[1] == "infill":
            return await engine.fill(GAPS)
        return await engine.metrics()
def most_bytes():
    try:  # what `getrusage` says counts the process that started this one, too
        with open("/proc/self/status") as told:
            return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", told.read())[1])
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
began = time.monotonic()
try:
    said = asyncio.run(ask())
except EngineGone:
    said = "gone"
print(said, time.monotonic() - began, most_bytes())
"""

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
CANVAS = json.dumps({"event": "canvas", "gap": 0, "committed": "x" * 1000, "canvas": []}).encode() + b"\n"


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)


KINDS: dict[str, tuple[bytes, bytes, float]] = {  # how it begins, what follows again and again, with pauses in seconds
    "body": (HEAD, chunk(b" " * 65536), 0),
    "lines": (HEAD, chunk(CANVAS), 0),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"A: " + b"x" * 1000 + b"\r\n", 0),
    "header": (b"HTTP/1.1 200 OK\r\nA: ", b"x" * 65536, 0),
    "drop by drop": (HEAD, chunk(b" "), 0.1),
    "heads": (b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0),
    "a head drop by drop": (b"HTTP/1.1 200 OK\r\nA: ", b"x", 0.1),
}


class Endless:
    def __init__(self, path: str, kind: str) -> None:
        self._kind, self._ended = kind, threading.Event()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._ended.set()
        self._listener.close()

    def _serve(self) -> None:
        start, more, pause_s = KINDS[self._kind]
        while not self._ended.is_set():
            try:
                connection, _ = self._listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(start)
                    for _ in itertools.count():
                        connection.sendall(more)
                        if self._ended.wait(pause_s):
                            return
            except OSError:
                continue


@pytest.fixture
def endless(kind: str, state_folder: Path) -> Iterator[Endless]:
    with tempfile.TemporaryDirectory() as folder:
        state = {"address": f"unix:{folder}/s", "token": "t", "nonce": "n", "pid": 1, "model": DEFAULT.name}
        (state_folder / f"engine-{DEFAULT.name}.json").write_text(
            json.dumps(state | {"version": __version__, "started": 0.0})
        )
        there = Endless(f"{folder}/s", kind)
        yield there
        there.close()


CASES = [(kind, asked) for kind in KINDS for asked in ("connect", "infill")]
# An engine at work may take as long as it wants, while it is heard.
CASES.remove(("drop by drop", "infill"))


@pytest.mark.parametrize(("kind", "asked"), [*CASES, ("body", "metrics")])
@pytest.mark.usefixtures("endless")
def test_an_answer_without_end(kind: str, asked: str) -> None:
    command = [sys.executable, "-c", CLIENT, asked]
    said, seconds, taken = subprocess.check_output(command, text=True, timeout=60).split()
    assert said == ("None" if asked == "connect" else "gone")
    assert float(seconds) < MOST_S + 0.5
    assert int(taken) < MOST_BYTES
