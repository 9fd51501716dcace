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
    """Its name, as its maker gives it."""
    try:
        if platform.system() == "Darwin":
            command = ["sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, subprocess.CalledProcessError, StopIteration):
        return platform.processor() or platform.machine()
