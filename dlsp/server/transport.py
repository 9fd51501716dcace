"""The server on standard input and output."""

import asyncio
import gc
import io
import logging
import signal
import sys
import threading
from contextlib import suppress
from typing import Any, BinaryIO

from pygls.io_ import StdoutWriter, run_async

from dlsp import logfile
from dlsp.server.app import build

READ_BYTES = 2**16


def serve() -> int:
    """Serve one editor until `exit` or the end of the input; returns the exit status: 1 for `exit` without
    `shutdown`."""
    gc.freeze()  # imported objects are permanent, so collections can skip them
    logging.basicConfig(level=logging.WARNING)
    logging.raiseExceptions = False
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
    reader: Any = stream_of(sys.stdin.buffer)
    app = build()
    serving = asyncio.current_task()
    assert serving is not None
    stopping = threading.Event()  # set by SIGTERM
    if sys.platform != "win32":

        def end() -> None:
            stopping.set()
            serving.cancel()

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    protocol = app.server.protocol
    protocol.set_writer(StdoutWriter(sys.stdout.buffer))
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
    return 0


def stream_of(file: BinaryIO) -> asyncio.StreamReader:
    """A stream of what `file` yields, on every system and for every kind of file, read by a daemon thread.

    pygls would switch from the thread to the loop for each line; this does so once per read.
    """
    stream = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    raw = file.raw if isinstance(file, io.BufferedReader) else file

    def read() -> None:
        with suppress(RuntimeError):  # the loop has ended
            while piece := _piece(raw):
                loop.call_soon_threadsafe(stream.feed_data, piece)
            loop.call_soon_threadsafe(stream.feed_eof)

    threading.Thread(target=read, name="standard input", daemon=True).start()
    return stream


def _piece(raw: BinaryIO) -> bytes:
    try:
        return raw.read(READ_BYTES) or b""
    except (OSError, ValueError):
        return b""
