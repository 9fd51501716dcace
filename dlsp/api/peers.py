"""Which user's program is at the other end of a loopback connection, where the system tells it."""

import os
import socket
import struct
import sys
from pathlib import Path

ESTABLISHED = "01"
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


def can_be_known() -> bool:
    """Whether `same_user` can tell: on Linux alone."""
    return sys.platform == "linux" and TABLES[0].exists()


def same_user(connection: socket.socket) -> bool:
    """Whether the connection's other end belongs to a process of this user, by the kernel's table of connections."""
    try:
        peer, own = connection.getpeername(), connection.getsockname()
    except OSError:
        return False  # it is closed already
    ends = {(_hex(peer[0], mapped), _hex(own[0], mapped)) for mapped in (False, True)}
    wanted = {(f"{theirs}:{peer[1]:04X}", f"{ours}:{own[1]:04X}") for theirs, ours in ends}
    return _owner(wanted) == os.geteuid()


def _owner(wanted: set[tuple[str, str]]) -> int | None:
    """The user id of the established socket that has one of these pairs of local and remote address."""
    for table in TABLES:
        try:
            lines = table.read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            (
                _,
                local,
                remote,
                state,
                *_,
            ) = fields = line.split()
            if (local, remote) in wanted and state == ESTABLISHED:
                return int(fields[7])
    return None


def _hex(host: str, mapped: bool) -> str:
    """An address as the kernel's tables write it: 32-bit words in the machine's byte order. `mapped` gives an IPv4
    address as the IPv6 one that stands for it."""
    if ":" in host:
        packed = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
    else:
        packed = (b"\0" * 10 + b"\xff" * 2 if mapped else b"") + socket.inet_pton(socket.AF_INET, host)
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words)
