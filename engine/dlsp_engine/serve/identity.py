"""Checks who is at the other end of a connection, and proves to a client that it talks to the engine.

`dlsp.engine.identity` is the client's side; `docs/engine-http.md` describes both.
"""

import hmac
import os
import socket
import struct
import sys
from typing import Any


def same_user(connection: Any) -> bool:
    """Whether the process at the other end of a connected Unix socket runs as the same user as this one."""
    try:
        return peer_uid(connection) == os.geteuid()
    except OSError:
        return False  # the other process has gone


def peer_uid(connection: Any) -> int:
    """Return the user id of the process at the other end of a connected Unix socket. Raises OSError if there is
    none.
    """
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
    """Return the answer to `challenge`, in hexadecimal digits, that only a process that knows `token` can compute.

    It depends on the engine's address too: another process that gets an answer from the engine cannot use it at its own
    address.
    """
    return hmac.digest(token.encode(), f"dlsp engine\n{address}\n{challenge}".encode(), "sha256").hex()
