"""Programs for processors of Arm, compiled here as for one; and the crew as it sleeps on macOS."""

import atexit
import ctypes
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import llvmlite.binding as llvm
import pytest
import torch

from dlsp_kernels.canvas_attention.source import Writer
from dlsp_kernels.int4_linear import source as int4_linear
from dlsp_kernels.int8_linear import source as int8_linear
from dlsp_kernels.kv_format import FLOAT32, INT4, INT8
from dlsp_kernels.low_rank_add import source as low_rank_add
from dlsp_kernels.norm_quantise import source as norm_quantise
from dlsp_kernels.program import crew_source
from dlsp_kernels.program.crew import Crew
from dlsp_kernels.program.instructions import NEON, usable
from dlsp_kernels.program.system import ALL, FUTEX, WAIT, WAKE, System
from dlsp_kernels.quantise import source as quantise
from dlsp_kernels.rope_heads import source as rope_heads
from dlsp_kernels.swiglu_quantise import source as swiglu_quantise
from tests.kernels.test_crew import counting, here, once

TRIPLES = {"linux": "aarch64-unknown-linux-gnu", "darwin": "arm64-apple-darwin"}

PROGRAMS: dict[str, Callable[[], str]] = {
    "int8_linear": lambda: int8_linear.source(NEON, 4),
    "int8_linear, odd": lambda: int8_linear.source(NEON, 1),
    "int4_linear": lambda: int4_linear.source(NEON),
    "low_rank_add": lambda: low_rank_add.source(NEON),
    "norm_quantise": lambda: norm_quantise.source(NEON, 896, 1e-6, 127),
    "quantise": lambda: quantise.source(NEON, 896, 127),
    "swiglu_quantise": lambda: swiglu_quantise.source(NEON, 4864, 127),
    "rope_heads": lambda: rope_heads.source(NEON, 32, 14, 2),
    "rope_heads, transformed": lambda: rope_heads.source(NEON, 32, 14, 2, transform=True),
    "canvas_attention": lambda: Writer(NEON, 64, 14, 2, FLOAT32).source(),
    "canvas_attention, wide": lambda: Writer(NEON, 128, 12, 2, FLOAT32).source(),
    "canvas_attention, int8": lambda: Writer(NEON, 64, 14, 2, INT8).source(),
    "canvas_attention, int4": lambda: Writer(NEON, 64, 14, 2, INT4).source(),
}


def assembly(source: str, system: str) -> str:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLES[system])
    module = llvm.parse_assembly(source)
    module.triple = TRIPLES[system]
    wanted = ",".join(f"+{name}" for name in NEON.features)
    return target.create_target_machine(features=wanted, opt=3, jit=True).emit_assembly(module)


def loop(text: str, function: str) -> list[str]:
    """The first loop of a function, of one block."""
    _, _, behind = text.partition(f"\n{function}:")
    label = re.search(r"^(\.?LBB\w+):$", behind, re.MULTILINE)
    assert label
    lines = [line.strip() for line in behind[label.end() :].splitlines()]
    end = next(number for number, line in enumerate(lines) if line.endswith(label[1]))
    return [line for line in lines[:end] if line]


@pytest.mark.parametrize("system", TRIPLES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_there_is_code_for_arm(name: str, system: str):
    text = assembly(PROGRAMS[name](), system)
    assert ("sdot" in text) == name.startswith(("int8_linear", "int4_linear"))
    called, there = (set(re.findall(pattern, text, re.MULTILINE)) for pattern in (r"^\tbl\t(\w+)", r"^(\w+):"))
    assert called <= there, "no library's functions"


def test_products_stay_in_registers():
    """As many rows as there are: nothing but weights, x and what comes after is read, and nothing is put away."""
    rows = int8_linear.rows_at_once(NEON)
    body = loop(assembly(PROGRAMS["int8_linear"](), "linux"), f"rows_{rows}")
    assert sum(line.startswith("sdot") for line in body) == 4 * int8_linear.VECTORS * rows
    assert not [line for line in body if line.startswith("st") or "[sp" in line]
    assert len(body) < 1.5 * 4 * int8_linear.VECTORS * rows


@pytest.mark.parametrize("name", TRIPLES)
def test_the_crew_asks_its_own_system(name: str):
    text = assembly(crew_source.source(System(name, "aarch64")), name)
    assert "isb" in text
    assert ("__ulock_wait" in text, "syscall" in text) == (name == "darwin", name == "linux")


@pytest.mark.skipif(sys.platform != "linux" or not System.here(), reason="its calls are made of Linux's")
@pytest.mark.skipif(usable() is None, reason="no program runs here")
def test_the_crew_sleeps_and_wakes_as_on_macos(monkeypatch: pytest.MonkeyPatch, threads_after: None):
    system = Pretended("darwin", here().processor)
    own = Crew(system)
    monkeypatch.setattr("dlsp_kernels.program.compiled.crew", lambda: own)
    program = counting.__wrapped__()
    torch.set_num_threads(3)
    try:
        for turn in range(5):
            counts, who = torch.zeros(300_008, dtype=torch.int32), torch.zeros(300_008, dtype=torch.int32)
            program(counts, who, items=300_000)
            assert torch.equal(counts, once(300_000))
            assert int(who.max()) < 3
            until = time.monotonic() + 20
            while system.waits < 2 * (turn + 1):
                assert time.monotonic() < until, "helpers that have nothing to do sleep"
                time.sleep(0.01)
        before = time.process_time()
        time.sleep(0.5)
        assert time.process_time() - before < 0.1
    finally:
        own.dismiss()
        atexit.unregister(own.dismiss)  # it would call Python when there is none any more
    assert system.wakes >= 2, "for work, and to end"
    assert not any(helper.is_alive() for helper in own._helpers)


_WAIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32)
_WAKE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64)


@dataclass(frozen=True)
class Pretended(System):
    """macOS's two calls, declared as its headers do, by Linux's one."""

    told: dict[str, int] = field(default_factory=lambda: {"waits": 0, "wakes": 0})
    kept: list[object] = field(default_factory=list)

    @property
    def waits(self) -> int:
        return self.told["waits"]

    @property
    def wakes(self) -> int:
        return self.told["wakes"]

    def calls(self) -> dict[str, int]:
        syscall, number = ctypes.CDLL(None).syscall, FUTEX[self.processor]

        def futex(word: int, what: int, value: int) -> int:
            return syscall(ctypes.c_long(number), ctypes.c_void_p(word), what, ctypes.c_uint(value), None, None, 0)

        def wait(operation: int, word: int, value: int, microseconds: int) -> int:
            assert (operation, microseconds) == (1, 0)
            self.told["waits"] += 1
            return futex(word, WAIT, value)

        def wake(operation: int, word: int, value: int) -> int:
            assert (operation, value) == (0x101, 0)
            self.told["wakes"] += 1
            return futex(word, WAKE, ALL)

        made = {"__ulock_wait": _WAIT(wait), "__ulock_wake": _WAKE(wake)}
        self.kept.extend(made.values())
        return {name: ctypes.cast(call, ctypes.c_void_p).value or 0 for name, call in made.items()}
