"""Curves of what processes use over time, and whether they are flat."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

import psutil

# What may lie between the second and the last quarter's median: a share, and an amount. Memory comes in blocks, and
# caches fill up slowly. Pages of mapped files come as they are read, those of the embedding when a token comes first:
# 140 MB in the model of 0.5B. The system can drop them.
SHARE = 1.05
ALLOWED: Mapping[str, float] = {
    "memory_mb": 8,
    "mapped_mb": 140,
    "descriptors": 3,
    "threads": 3,
    "files": 5,
    "state_mb": 2,
}

Sample = dict[str, float]


def sample(pid: int, name: str) -> Sample:
    """What a process uses now, its own memory apart from pages of mapped files; empty if it has ended."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        memory = process.memory_info()
        mapped = getattr(memory, "shared", 0)
        descriptors = process.num_fds() if hasattr(process, "num_fds") else 0
        return {
            f"{name}/memory_mb": round((memory.rss - mapped) / 2**20, 2),
            f"{name}/mapped_mb": round(mapped / 2**20, 2),
            f"{name}/descriptors": descriptors,
            f"{name}/threads": process.num_threads(),
        }
    return {}


def folder(path: Path, name: str) -> Sample:
    """How many files are below a folder, and their size."""
    sizes = []
    for above, _, files in os.walk(path):
        for file in files:
            with suppress(OSError):  # it went meanwhile
                sizes.append((Path(above) / file).lstat().st_size)
    return {f"{name}/files": len(sizes), f"{name}/state_mb": round(sum(sizes) / 2**20, 2)}


def quarters(samples: Sequence[Sample], name: str) -> tuple[float, float]:
    """The medians of the second and of the last quarter of a curve; the first is that of filling caches."""
    found = [each[name] for each in samples if name in each]
    quarter = max(1, len(found) // 4)
    return median(found[quarter : 2 * quarter] or found), median(found[-quarter:])


def grown(samples: Sequence[Sample]) -> dict[str, tuple[float, float]]:
    """The curves that are not flat, with the medians of their second and last quarter."""
    names = sorted({name for each in samples for name in each})
    found = {name: quarters(samples, name) for name in names}
    return {
        name: (before, after)
        for name, (before, after) in found.items()
        if after > SHARE * before + ALLOWED[name.rpartition("/")[2]]
    }
