"""Standard input as an asyncio stream, on every system and whatever it is.

pygls crosses from a thread to the loop for each line; here that happens once for what one read brings.
"""

import asyncio
import io
import threading
from contextlib import suppress
from typing import BinaryIO

AT_ONCE = 2**16


def reader(file: BinaryIO) -> asyncio.StreamReader:
    """What `file` brings; a thread reads it, which never keeps the process."""
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
        return raw.read(AT_ONCE) or b""
    except (OSError, ValueError):
        return b""
