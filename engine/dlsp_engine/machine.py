"""The processor, and how PyTorch uses it."""

import os
import platform
import subprocess
from pathlib import Path


def machine() -> dict[str, str]:
    """What layouts and times depend on."""
    import torch  # a second, which not everybody who asks for the processor's name has

    return {
        "processor": processor(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "limit": os.environ.get("ONEDNN_MAX_CPU_ISA", ""),
        "torch": torch.__version__,
    }


def processor() -> str:
    """Its name, as its maker gives it; numbers where it has none, as Arm's under Linux."""
    try:
        if platform.system() == "Darwin":
            command = ["sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        return named(Path("/proc/cpuinfo").read_text()) or platform.machine()
    except (OSError, subprocess.CalledProcessError):
        return platform.processor() or platform.machine()


def named(cpuinfo: str) -> str:
    """The first processor there; empty where neither name nor numbers are given."""
    lines = [line.partition(":") for line in cpuinfo.splitlines()]
    told = {name.strip(): value.strip() for name, _, value in reversed(lines)}
    arm = (told[key] for key in ("CPU implementer", "CPU part", "CPU variant") if key in told)
    return told.get("model name") or " ".join(arm)
