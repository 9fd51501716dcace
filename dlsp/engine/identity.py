"""Verify that the peer of a connection is the engine, before any of the user's data is sent to it.

`dlsp_engine.serve.identity` is the engine's side; `docs/engine-http.md` describes the exchange.
"""

import hmac
import os
import secrets
import socket
import struct
import sys
from typing import Any


def same_user(connection: Any) -> bool:
    """Whether the process listening at the other end of a connected Unix socket belongs to this process's user."""
    try:
        return peer_uid(connection) == os.geteuid()
    except OSError:
        return False  # the peer is gone


def peer_uid(connection: Any) -> int:
    """The user id of the process at the other end of a connected Unix socket; raises OSError if there is none."""
    if sys.platform == "linux":
        _, uid, _ = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return uid
    import ctypes

    uid, gid = ctypes.c_uint(), ctypes.c_uint()  # uid_t and gid_t on macOS and the BSDs
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.getpeereid(connection.fileno(), ctypes.byref(uid), ctypes.byref(gid)):
        raise OSError(ctypes.get_errno(), "getpeereid")
    return uid.value


def challenge() -> str:
    """A nonce of 64 hexadecimal digits."""
    return secrets.token_hex(32)


def proves(answer: object, token: str, address: str, challenge: str) -> bool:
    """Whether `answer` proves that a process at `address` knows the engine's token."""
    right = hmac.digest(token.encode(), f"dlsp engine\n{address}\n{challenge}".encode(), "sha256").hex()
    return isinstance(answer, str) and hmac.compare_digest(answer.encode(), right.encode())
