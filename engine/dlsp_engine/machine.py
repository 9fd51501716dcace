"""Identifies the processor, and how PyTorch uses it."""

import os
import platform
import subprocess
from pathlib import Path


def machine() -> dict[str, str]:
    """Return what stored weight layouts and timings depend on: the processor's name, the instruction set that PyTorch
    uses, the limit set for oneDNN, and PyTorch's version.
    """
    import torch  # takes a second, which callers of `processor` need not spend

    return {
        "processor": processor(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "limit": os.environ.get("ONEDNN_MAX_CPU_ISA", ""),
        "torch": torch.__version__,
    }


def processor() -> str:
    """Return the processor's name as its maker gives it. Where there is none, as for Arm under Linux, return the
    numbers of its maker and model.
    """
    try:
        if platform.system() == "Darwin":
            command = ["sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        return named(Path("/proc/cpuinfo").read_text()) or platform.machine()
    except (OSError, subprocess.CalledProcessError):
        return platform.processor() or platform.machine()


def named(cpuinfo: str) -> str:
    """Return the name or the numbers of the first processor in `cpuinfo`; empty if it has neither."""
    lines = [line.partition(":") for line in cpuinfo.splitlines()]
    fields = {name.strip(): value.strip() for name, _, value in reversed(lines)}
    arm = (fields[key] for key in ("CPU implementer", "CPU part", "CPU variant") if key in fields)
    return fields.get("model name") or " ".join(arm)
