"""Who is at the other end of a connection, and how the engine shows a client that it is the engine.

`dlsp.engine.identity` is the client's half of the same: `docs/engine-http.md` describes what both do.
"""

import hmac
import os
import socket
import struct
import sys
from typing import Any


def same_user(connection: Any) -> bool:
    """Whether the process at the other end of a connected Unix socket runs as the user of this one."""
    try:
        return peer_uid(connection) == os.geteuid()
    except OSError:
        return False  # it has gone


def peer_uid(connection: Any) -> int:
    """The user id of the process at the other end of a connected Unix socket; raises OSError where there is none."""
    if sys.platform == "linux":
        _, uid, _ = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return uid
    import ctypes

    uid, gid = ctypes.c_uint(), ctypes.c_uint()  # uid_t and gid_t of macOS and the BSDs
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.getpeereid(connection.fileno(), ctypes.byref(uid), ctypes.byref(gid)):
        raise OSError(ctypes.get_errno(), "getpeereid")
    return uid.value


def proof(token: str, address: str, challenge: str) -> str:
    """What only a process that knows `token` can answer to `challenge`, as hexadecimal digits.

    The address is part of it: an answer that another process fetches from the engine is wrong at its own address.
    """
    return hmac.digest(token.encode(), f"dlsp engine\n{address}\n{challenge}".encode(), "sha256").hex()
