"""The layers that Linux gives: namespaces, Landlock, another user. Each says whether it is in force."""

import ctypes
import os
import signal

CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x08000000, 0x10000000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG, PR_SET_KEEPCAPS, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 1, 8, 38, 47
PR_CAP_AMBIENT_RAISE = 2
CAPABILITY_VERSION_3, CAP_DAC_READ_SEARCH = 0x20080522, 2
NOBODY = 65534
LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 444, 446  # the same number on every architecture
LANDLOCK_VERSION = 1
EXECUTE = 0b1
# Rights of files: execute (0), write (1), remove and make (4 to 12), move (13), truncate (14). Not reading.
EXECUTE_AND_WRITE, MOVE, TRUNCATE = 0b1_1111_1111_0011, 1 << 13, 1 << 14
BIND_AND_CONNECT = ABSTRACT_SOCKETS_AND_SIGNALS = 0b11

_libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


def leave_namespaces() -> bool:
    """Give the next child its own processes (it is number 1, and all end with it) and an empty network."""
    flags = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC
    return _libc.unshare(flags if os.geteuid() == 0 else flags | CLONE_NEWUSER) == 0


def become_nobody() -> bool:
    """Root alone: root is exempt from the limit on processes, so become a user who is not.

    The right to read is kept, also by programs that are executed, because the interpreter may lie in root's home. False
    where the user cannot be changed or could not read the standard library then.
    """
    try:
        _libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
        reading = 1 << CAP_DAC_READ_SEARCH
        if _libc.capset(header, (ctypes.c_uint32 * 6)(reading, reading, reading)) != 0:
            _libc.capset(header, (ctypes.c_uint32 * 6)())
        _libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0)
        os.close(os.open(os.__file__, os.O_RDONLY))
    except OSError:
        return False
    return True


def forbid_writing(executing: bool = False) -> bool:
    """By Landlock: no file is written, made, removed or, unless `executing`, executed, no TCP, no signal to a process
    outside.
    """
    _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    version = _libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_VERSION)
    if version < 1:
        return False
    rules = _Ruleset(EXECUTE_AND_WRITE & ~EXECUTE if executing else EXECUTE_AND_WRITE, 0, 0)
    rules.files |= (MOVE if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0)
    rules.network = BIND_AND_CONNECT if version >= 4 else 0
    rules.scoped = ABSTRACT_SOCKETS_AND_SIGNALS if version >= 6 else 0
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _libc.syscall(LANDLOCK_CREATE_RULESET, ctypes.byref(rules), size, 0)
    return ruleset >= 0 and _libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0


def die_with_parent() -> None:
    """Be killed when the parent ends. A change of user or namespace undoes it: call it after those."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
