"""What threads that share a kernel need from the processor and the operating system: to pause, to sleep, to wake."""

import ctypes
import platform
import sys
from dataclasses import dataclass

from llvmlite import ir

from dlsp_kernels.program.writing import INT, LONG, NOTHING, POINTER, function

# The number of Linux's system call `futex`, by processor.
FUTEX = {"x86_64": 202, "aarch64": 98}

# FUTEX_WAIT_PRIVATE, FUTEX_WAKE_PRIVATE, and how many threads to wake.
WAIT, WAKE, ALL = 128, 129, 2**31 - 1

# For macOS: UL_COMPARE_AND_WAIT, which compares 4 bytes, and ULF_WAKE_ALL.
COMPARE, WAKE_ALL = 1, 0x100

# The operand of `isb` (the whole system). On Arm, `isb` pauses about as long as `pause` does on x86.
BARRIER = 15


@dataclass(frozen=True)
class System:
    """`name` as in `sys.platform`; `processor` by Linux's name."""

    name: str
    processor: str

    @classmethod
    def here(cls) -> "System | None":
        """This machine's system; None if threads cannot sleep and wake each other on it."""
        processor = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
        return cls(sys.platform, processor) if sys.platform in ("linux", "darwin") and processor in FUTEX else None

    def calls(self) -> dict[str, int]:
        """Name -> address, in this process, of each function that `wait` and `wake` call."""
        library = ctypes.CDLL(None)
        names = ("syscall",) if self.name == "linux" else ("__ulock_wait", "__ulock_wake")
        found = {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in names}
        return {name: address for name, address in found.items() if address}

    def pause(self, b: ir.IRBuilder) -> None:
        """Emit a short pause, for a loop that polls."""
        if self.processor == "x86_64":
            b.call(function(b.module, "llvm.x86.sse2.pause", NOTHING, []), [])
        else:
            b.call(function(b.module, "llvm.aarch64.isb", NOTHING, [INT]), [INT(BARRIER)])

    def wait(self, b: ir.IRBuilder, word: ir.Value, value: ir.Value) -> None:
        """Emit: sleep until another thread wakes those that wait on the word. Returns at once if the word is not
        `value`.
        """
        if self.name == "linux":
            self._futex(b, word, WAIT, value)
        else:
            of = function(b.module, "__ulock_wait", INT, [INT, POINTER, LONG, INT])
            b.call(of, [INT(COMPARE), word, b.zext(value, LONG), INT(0)])

    def wake(self, b: ir.IRBuilder, word: ir.Value) -> None:
        """Emit: wake all threads that wait on the word."""
        if self.name == "linux":
            self._futex(b, word, WAKE, INT(ALL))
        else:
            of = function(b.module, "__ulock_wake", INT, [INT, POINTER, LONG])
            b.call(of, [INT(COMPARE | WAKE_ALL), word, LONG(0)])

    def _futex(self, b: ir.IRBuilder, word: ir.Value, what: int, value: ir.Value) -> None:
        called = b.module.globals.get("syscall") or ir.Function(
            b.module, ir.FunctionType(LONG, [LONG], var_arg=True), "syscall"
        )
        b.call(called, [LONG(FUTEX[self.processor]), word, INT(what), value, POINTER(None), POINTER(None), INT(0)])
