"""`python -m bench.gpu.compile`: compiles what steps launch for a GPU that need not be there, and says what it takes.

Shows what the interpreter cannot: programs that do not compile, take more shared memory than there is, spill, or touch
memory before the kernels before are done.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rich.console import Console
from rich.table import Table

from dlsp_kernels.ops import NAMES

# KiB of shared memory that a program may use, by compute capability.
LIMITS = {80: 163, 86: 99, 89: 99, 90: 227, 100: 227, 120: 99}

# Instructions that read or write global memory.
MEMORY = {"LD", "LDG", "LDGSTS", "ST", "STG", "ATOM", "ATOMG", "RED", "REDG", "UBLKCP", "UTMALDG", "UTMASTG"}


def compiled(capability: int, launch: Callable[[], None]) -> Iterator[tuple[str, Any]]:
    """Name and binary of each program that `launch` asks for, none of which runs."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver
    from triton.runtime.jit import JITFunction

    properties = {"max_shared_mem": LIMITS[capability] * 1024, "multiprocessor_count": 132}
    stand_in: Any = SimpleNamespace(
        get_current_target=lambda: GPUTarget("cuda", capability, 32),
        get_current_device=lambda: 0,
        get_current_stream=lambda device: 0,
        utils=SimpleNamespace(get_device_properties=lambda device: properties),
    )
    driver.set_active(stand_in)
    found: dict[str, Any] = {}
    run = JITFunction.run

    def compile_only(self: Any, *inputs: Any, grid: Any, warmup: bool, **options: Any) -> Any:
        binary: Any = run(self, *inputs, grid=grid, warmup=True, **options)
        tile = ", ".join(f"{key[6:].lower()} {options[key]}" for key in options if key.startswith("BLOCK"))
        more = f" {options['FORMAT']}" if "FORMAT" in options else ""
        more += f" {options['DTYPE']}" if "DTYPE" in options else ""
        module = self.fn.__module__.split(".")[-2]
        found[f"{module}.{self.fn.__name__}{more} ({tile}) {binary.hash[:4]}"] = binary
        return binary

    JITFunction.run = compile_only
    try:
        launch()
    finally:
        JITFunction.run = run
    yield from found.items()


def steps(shapes: list[str], dtypes: list[str], formats: list[str], rows: list[int]) -> None:
    """One layer of a model's shape and the head, in each type, format and number of rows, and behind a long context; it
    computes nonsense.
    """
    import torch

    from bench.gpu.shapes import SHAPES, blank
    from dlsp_engine.model.adapter import Adapter
    from dlsp_engine.model.gpu.buffers import LONG_CONTEXT
    from dlsp_engine.model.gpu.step import GpuQwen2
    from dlsp_engine.model.rows import MASK, Rows

    for shape, dtype in product(shapes, dtypes):
        weights = blank(SHAPES[shape], getattr(torch, dtype), layers=1)
        adapter = Adapter.random(weights.architecture, rank=32)
        for format in formats:
            model = GpuQwen2(weights, adapter, "cpu", format=format, pages=200)
            for count in rows:
                step = Rows()
                step.add_clean([1] * max(1, count // 5), 0)
                step.add_canvas([MASK] * (count - len(step)), after=0)
                model.head(model.forward([(model.new_cache(), step)]))
            cache, step = model.new_cache(), Rows()
            cache.reserve(LONG_CONTEXT + 1)
            cache.length = LONG_CONTEXT + 1
            step.add_clean([1], cache.length)
            model.head(model.forward([(cache, step)]))
            if model.failures:
                print(shape, dtype, format, model.failures)


def checks(ops: Sequence[str]) -> list[str]:
    """What `python -m bench.gpu` checks; says what fails."""
    from bench.gpu.cases import cases
    from dlsp_kernels.ops import reason

    failures = []
    for op, real in product(ops, (False, True)):
        fused = getattr(import_module(f"dlsp_kernels.{op}.triton"), op)
        for case in cases("cpu", real, op):
            try:
                case.outputs(fused, False)
            except Exception as error:
                failures.append(f"{case.op}, {case.name}: {reason(error)}")
    return failures


def resources(binary: Any) -> tuple[int, int]:
    """Registers a thread, and bytes a thread spills or keeps in local memory."""
    numbers = {key: int(value) for key, value in re.findall(r"(REG|STACK|LOCAL):(\d+)", shown(binary, "-res-usage"))}
    return numbers["REG"], numbers["STACK"] + numbers["LOCAL"]


def waits_first(binary: Any) -> bool:
    """Whether the machine code waits for the kernels before (ACQBULK) before it reads or writes global memory."""
    code = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?\w+\s+)?([A-Z0-9]+)", shown(binary, "-sass"))
    access = next((i for i, name in enumerate(code) if name in MEMORY), len(code))
    return "ACQBULK" in code[:access]


def shown(binary: Any, what: str) -> str:
    import triton

    tools = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(binary.asm["cubin"])
        file.flush()
        return subprocess.run([tools, what, file.name], capture_output=True, text=True, check=True).stdout


def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.gpu.compile", description=__doc__)
    add = parser.add_argument
    add("--capability", type=int, default=90, choices=sorted(LIMITS))
    add("--shapes", nargs="*", default=["0.5b", "1.5b"])
    add("--dtypes", nargs="+", default=["bfloat16", "float32"])
    add("--formats", nargs="+", default=["dense", "int8", "fp8", "int4"])
    add("--rows", nargs="+", type=int, default=[1, 25, 64, 128, 512])
    add("--checks", nargs="*", metavar="OP", help="also what is checked on a GPU, of all ops or these; takes minutes")
    asked = parser.parse_args()
    if os.environ.get("TRITON_INTERPRET") == "1":
        sys.exit("TRITON_INTERPRET is set: there is nothing to compile.")
    table = Table("program", "shared KiB", "registers", "spilled", "", title=f"compute capability {asked.capability}")
    failures: list[str] = []

    def launch() -> None:
        steps(asked.shapes, asked.dtypes, asked.formats, asked.rows)
        failures.extend(checks(asked.checks or NAMES) if asked.checks is not None else [])

    bad = 0
    for name, binary in compiled(asked.capability, launch):
        shared, (registers, spilled) = binary.metadata.shared / 1024, resources(binary)
        too_much = shared > LIMITS[asked.capability]
        early = asked.capability >= 90 and not waits_first(binary)
        bad += too_much or early
        more = "touches memory before it waits" if early else ""
        table.add_row(name, f"{shared:.0f}{' !' if too_much else ''}", str(registers), str(spilled), more)
    Console(width=150).print(table)
    for failure in failures:
        print("DOES NOT COMPILE", failure)
    return 1 if bad or failures else 0


if __name__ == "__main__":
    sys.exit(main())
