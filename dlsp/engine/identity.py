"""Whether the process at the other end of a connection is the engine: asked before it is sent anything of the user's.

`dlsp_engine.serve.identity` is the engine's half of the same: `docs/engine-http.md` describes what both do.
"""

import hmac
import os
import secrets
import socket
import struct
import sys
from typing import Any


def same_user(connection: Any) -> bool:
    """Whether the process that listens at the other end of a connected Unix socket runs as the user of this one."""
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


def challenge() -> str:
    """64 hexadecimal digits that nobody has seen before."""
    return secrets.token_hex(32)


def proves(answer: object, token: str, address: str, challenge: str) -> bool:
    """Whether `answer` to `challenge` can only come from a process at `address` that knows the engine's token."""
    right = hmac.digest(token.encode(), f"dlsp engine\n{address}\n{challenge}".encode(), "sha256").hex()
    return isinstance(answer, str) and hmac.compare_digest(answer.encode(), right.encode())
