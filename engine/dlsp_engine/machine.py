"""The processor, as PyTorch uses it."""

import os
import platform
from pathlib import Path

import torch


def machine() -> dict[str, str]:
    """What layouts and times depend on."""
    return {
        "processor": processor(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "limit": os.environ.get("ONEDNN_MAX_CPU_ISA", ""),
        "torch": torch.__version__,
    }


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
