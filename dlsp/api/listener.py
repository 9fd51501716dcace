"""The ports that the API listens on, held from its start to its end."""

import errno
import socket
import sys
from collections.abc import Iterable

from dlsp.errors import UserError

LOOPBACK = "127.0.0.1"
LOOPBACK_HOSTS = (LOOPBACK, "localhost", "::1")
WAITING = 128  # connections that may wait to be accepted


def listen(host: str, ports: Iterable[int]) -> list[socket.socket]:
    """Sockets that listen on each port of `host`, for loopback on IPv6, too, where the machine has it: Node resolves
    `localhost` to either. Raises UserError if a port is taken."""
    bound: list[socket.socket] = []
    try:
        for port in ports:
            bound.append(_bound(socket.AF_INET6 if ":" in host else socket.AF_INET, host, port))
            if host == LOOPBACK and (other := _ipv6(port)):
                bound.append(other)
    except BaseException:
        for each in bound:
            each.close()
        raise
    return bound


def _ipv6(port: int) -> socket.socket | None:
    try:
        return _bound(socket.AF_INET6, "::1", port)
    except OSError:  # no IPv6 on this machine
        return None


def _bound(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform == "win32":  # otherwise another program could bind the same port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:  # the port of a program that has just ended; one that listens still keeps it
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((host, port))
        listener.listen(WAITING)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise UserError(f"Port {port} is taken by another program: end it, or choose another port.") from None
        if error.errno in (errno.EACCES, errno.EPERM):
            raise UserError(f"Port {port} may not be used: choose one above 1023.") from None
        if isinstance(error, socket.gaierror) or host not in LOOPBACK_HOSTS:
            raise UserError(f"'{host}' is no address of this machine: {error.strerror}.") from None
        raise
    return listener
