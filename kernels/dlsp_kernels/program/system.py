"""What threads that share a program ask of the processor and of the system."""

import ctypes
import platform
import sys
from dataclasses import dataclass

from llvmlite import ir

from dlsp_kernels.program.writing import INT, LONG, NOTHING, POINTER, function

FUTEX = {"x86_64": 202, "aarch64": 98}
"""The number of Linux's call by processor."""

WAIT, WAKE, ALL = 128, 129, 2**31 - 1
"""Its private kinds, and how many to wake."""

COMPARE, WAKE_ALL = 1, 0x100
"""What macOS's calls compare, 4 bytes, and to wake all."""

BARRIER = 15
"""An `isb` of the whole system, for which a processor of Arm pauses as long as `pause` does elsewhere."""


@dataclass(frozen=True)
class System:
    """`name` as Python has it, `processor` as Linux has it."""

    name: str
    processor: str

    @classmethod
    def here(cls) -> "System | None":
        """None where threads have not been taught to wait."""
        processor = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
        return cls(sys.platform, processor) if sys.platform in ("linux", "darwin") and processor in FUTEX else None

    def calls(self) -> dict[str, int]:
        """Addresses of what `wait` and `wake` call, in this process."""
        library = ctypes.CDLL(None)
        names = ("syscall",) if self.name == "linux" else ("__ulock_wait", "__ulock_wake")
        found = {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in names}
        return {name: address for name, address in found.items() if address}

    def pause(self, b: ir.IRBuilder) -> None:
        if self.processor == "x86_64":
            b.call(function(b.module, "llvm.x86.sse2.pause", NOTHING, []), [])
        else:
            b.call(function(b.module, "llvm.aarch64.isb", NOTHING, [INT]), [INT(BARRIER)])

    def wait(self, b: ir.IRBuilder, word: ir.Value, value: ir.Value) -> None:
        """Until somebody wakes who waits on the word; not at all if it is not `value`."""
        if self.name == "linux":
            self._futex(b, word, WAIT, value)
        else:
            of = function(b.module, "__ulock_wait", INT, [INT, POINTER, LONG, INT])
            b.call(of, [INT(COMPARE), word, b.zext(value, LONG), INT(0)])

    def wake(self, b: ir.IRBuilder, word: ir.Value) -> None:
        """All who wait on the word."""
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
