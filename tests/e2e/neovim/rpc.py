"""msgpack-RPC with a Neovim on its standard input and output, every question bounded in time."""

import itertools
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from io import BufferedReader
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import msgpack

ANSWER_S = 40


class Rpc:
    """Starts `command`. `redraw(at, events)` is called, in another thread, with what is drawn, and when it came."""

    def __init__(
        self,
        command: Sequence[str | Path],
        environment: Mapping[str, str],
        redraw: Callable[[float, list[Any]], None] = lambda at, events: None,
    ) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        assert self._process.stdin
        self._to = self._process.stdin
        self._numbers = itertools.count()
        self._answers: dict[int, SimpleQueue[tuple[Any, Any]]] = {}
        self._redraw = redraw
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __call__(self, method: str, *arguments: Any) -> Any:
        """The result of an API function; an AssertionError if it fails or nothing comes."""
        number = next(self._numbers)
        answers = self._answers[number] = SimpleQueue()
        self._to.write(msgpack.packb([0, number, method, arguments]))
        self._to.flush()
        try:
            error, result = answers.get(timeout=ANSWER_S)
        except Empty:
            raise AssertionError(f"Neovim did not answer {method} in {ANSWER_S} s.") from None
        if error:
            raise AssertionError(f"Neovim on {method}: {error[1]}")
        return result

    def close(self) -> None:
        """End Neovim, gently first."""
        try:
            self._to.write(msgpack.packb([2, "nvim_command", ["qall!"]]))
            self._to.close()
            self._process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._reader.join(5)

    def _read(self) -> None:
        assert isinstance(self._process.stdout, BufferedReader)
        unpacker = msgpack.Unpacker(ext_hook=lambda code, data: msgpack.unpackb(data), strict_map_key=False)
        while data := self._process.stdout.read1():
            at = time.perf_counter()
            unpacker.feed(data)
            for kind, *message in unpacker:
                if kind == 1:
                    number, error, result = message
                    self._answers.pop(number).put((error, result))
                elif message[0] == "redraw":
                    self._redraw(at, message[1])
        for answers in self._answers.values():
            answers.put(([0, "Neovim has ended."], None))
