"""The server on standard input and output."""

import asyncio
import gc
import io
import logging
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, BinaryIO, Protocol, SupportsIndex, cast

from pygls.io_ import run_async

from dlsp import logfile
from dlsp.server.app import build

READ_BYTES = 2**16
# Seconds after which a thread that computes lets another one run. Python's default, 5 ms, would hold the event loop up
# as long whenever a document is parsed or searched.
SWITCH_INTERVAL_S = 0.0005
# Seconds after which a server has made most objects that it will keep, and between two full garbage collections.
SETTLED_S, COLLECT_S = 5.0, 60.0
# A full collection waits until nothing has come from the editor for PAUSE_S, but for MAX_POSTPONED_S at most.
PAUSE_S, MAX_POSTPONED_S = 1.0, 600.0


def serve() -> int:
    """Serve one editor until `exit` or the end of the input; returns the exit status: 1 for `exit` without
    `shutdown`."""
    logging.basicConfig(level=logging.WARNING)
    logging.raiseExceptions = False
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    log = logfile.begin()
    try:
        with suppress(KeyboardInterrupt):
            return asyncio.run(_serve())
        return 0
    finally:
        if log:
            log.close()


async def _serve() -> int:
    """The part of `serve` that runs in an event loop. SIGTERM has the same effect as the end of the input."""
    stream = stream_of(sys.stdin.buffer)
    reader: Any = stream
    app = build()
    collect_garbage(asyncio.get_running_loop(), lambda: stream.heard_at)
    serving = asyncio.current_task()
    assert serving is not None
    stopping = threading.Event()  # set by SIGTERM
    if sys.platform != "win32":

        def end() -> None:
            stopping.set()
            serving.cancel()

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    protocol = app.server.protocol
    writer = Writer(sys.stdout.buffer, broken=stream.feed_eof)
    protocol.set_writer(writer)
    try:
        await run_async(threading.Event(), reader, protocol, error_handler=app.server.report_server_error)
    except SystemExit as said:  # the `exit` notification
        return int(said.code or 0)
    except (OSError, asyncio.IncompleteReadError, ValueError):
        pass  # the connection broke
    except asyncio.CancelledError:
        if not stopping.is_set():
            raise
        serving.uncancel()
    finally:
        await app.close()
        writer.close()
    return 0


def collect_garbage(loop: asyncio.AbstractEventLoop, heard_at: Callable[[], float]) -> None:
    """Keep garbage collections short, because all threads wait for them, and full ones where nobody waits: in a pause.
    `heard_at` returns the loop time of the editor's last message.

    Objects made so far, and by the first requests (converters of messages, for example), count as permanent: a full
    collection with them takes 50 ms, without them 1 ms. One in the middle of a search for edits would look at all that
    the search has made, so a timer runs them, not the number of objects.
    """

    def collect(due_s: float) -> None:
        now = loop.time()
        if now - heard_at() < PAUSE_S and now - due_s < MAX_POSTPONED_S:
            loop.call_later(PAUSE_S, collect, due_s)
            return
        gc.collect()
        loop.call_later(COLLECT_S, collect, now + COLLECT_S)

    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, sys.maxsize >> 32)
    gc.freeze()
    loop.call_later(SETTLED_S, gc.freeze)
    loop.call_later(COLLECT_S, collect, loop.time() + COLLECT_S)


class Writer:
    """Writes messages to `file`, all of one turn of the event loop at once: each write wakes the editor.

    If the file cannot be written any more, `broken` is called and messages are dropped. Thread-safe.
    """

    def __init__(self, file: BinaryIO, broken: Callable[[], None]) -> None:
        self._file, self._broken = file, broken
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._pending: deque[bytes] = deque()
        self._flush_is_due = False

    def write(self, data: bytes) -> None:
        self._pending.append(data)
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self._flush)
        elif not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_later(0, self._flush)  # unlike `call_soon`, after what is ready now has run

    def close(self) -> None:
        """Write what is pending."""
        self._flush()

    def _flush(self) -> None:
        self._flush_is_due = False
        data = b"".join(self._pending.popleft() for _ in range(len(self._pending)))
        try:
            if data:
                self._file.write(data)
                self._file.flush()
        except (OSError, ValueError):
            self._broken()


class Readable(Protocol):
    """A file that bytes can be read from."""

    def read(self, size: int, /) -> bytes | None: ...


class Input(asyncio.StreamReader):
    """A stream that knows at which loop time something came last."""

    heard_at = -float("inf")

    def feed_data(self, data: Iterable[SupportsIndex]) -> None:
        self.heard_at = asyncio.get_running_loop().time()
        super().feed_data(data)


def stream_of(file: BinaryIO) -> Input:
    """A stream of what `file` yields, on every system and for every kind of file, read by a daemon thread.

    pygls would switch from the thread to the loop for each line; this does so once per read.
    """
    stream = Input()
    loop = asyncio.get_running_loop()
    # Below the buffer, a read returns as soon as there is anything.
    raw: Readable = cast("io.BufferedReader[Any]", file).raw if isinstance(file, io.BufferedReader) else file

    def read() -> None:
        with suppress(RuntimeError):  # the loop has ended
            while piece := _piece(raw):
                loop.call_soon_threadsafe(stream.feed_data, piece)
            loop.call_soon_threadsafe(stream.feed_eof)

    threading.Thread(target=read, name="standard input", daemon=True).start()
    return stream


def _piece(raw: Readable) -> bytes:
    try:
        return raw.read(READ_BYTES) or b""
    except (OSError, ValueError):
        return b""
