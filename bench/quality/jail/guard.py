"""The portable layer: Python itself refuses what a program that only computes never does.

It is meant against accidents (a fill that removes files); what goes around it, the kernel's layers stop.
"""

import os
import sys

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
REFUSED = (
    "socket.",
    "subprocess.",
    "shutil.",
    "tempfile.",
    "os.system",
    "os.fork",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.kill",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "os.truncate",
    "os.link",
    "os.symlink",
    "os.chmod",
    "os.chown",
    "os.utime",
)


def install() -> None:
    """Refuse sockets, processes, signals and writing to files, for good: an audit hook cannot be removed."""
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event.startswith(REFUSED) or (event == "open" and _writes(arguments[2])):
        raise PermissionError(f"the sandbox refuses {event}")


def _writes(flags: object) -> bool:
    return isinstance(flags, int) and bool(flags & WRITING)
