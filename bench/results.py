"""The one form of all bench results: `bench/results/<bench>-<machine>.json`."""

import json
import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

import dlsp_engine
from dlsp import paths
from dlsp_engine.machine import processor

_OWN = os.environ.get("DLSP_RESULTS_DIR")
FOLDER = Path(_OWN or Path(__file__).parent / "results")
SAMPLES_BYTES = 900_000

_MAKERS = r"\b(intel|amd|apple|cpu|core|processor|virtual)\b"
_NOISE = rf"\(r\)|\(tm\)|@.*|\d+-core.*|\d+th gen|\bw(ith|/) .*|{_MAKERS}"


def write(
    bench: str,
    command: str,
    metrics: Mapping[str, float],
    samples: Sequence[Mapping[str, Any]],
    out: Path | None = None,
    **more: Any,
) -> Path:
    """Write a results file and return its path (`out`, else the folder's).

    `samples` that would take more than 900 kB are thinned evenly; `samples_of` says how many there were.
    `more` are further top-level fields.
    """
    head = {
        "bench": bench,
        "machine": machine(),
        "hardware": hardware(),
        "versions": versions(),
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        **more,
        "metrics": dict(metrics),
        "samples_of": len(samples),
    }
    lines = [json.dumps(sample, ensure_ascii=False, separators=(",", ":")) for sample in samples]
    # One sample a line: small in git, and a change shows as the lines that changed.
    body = ",\n  ".join(_thinned(lines))
    path = out or FOLDER / f"{bench}-{machine()}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(head, ensure_ascii=False, indent=1)[:-2]
    # Whole or not at all: a full disk must not cost what an earlier run has left.
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(f'{text},\n "samples": [\n  {body}\n ]\n}}\n', encoding="utf-8")
    partial.replace(path)
    return path


def kept(adapters: Path | None = None) -> Path:
    """Where benches keep what is finished, so that the next run goes on from there: in the cache, or beside results
    that have a folder of their own. Answers of other weights are none of it: each set of updates, those that ship or
    those in `adapters`, has a folder.
    """
    updates = _updates(adapters or Path(dlsp_engine.__file__).parent / "adapters")
    return (FOLDER / "kept" if _OWN else paths.cache_dir() / "bench") / updates


def _updates(adapters: Path) -> str:
    """A short name for the infill and edit updates in a folder."""
    digest = sha256()
    for path in sorted(adapters.glob("*-update.safetensors")):
        with path.open("rb") as file:
            digest.update(file_digest(file, "sha256").digest())
    return digest.hexdigest()[:8]


def machine() -> str:
    """A short, stable name of this kind of machine, such as `epyc-2c`; DLSP_MACHINE overrides it."""
    if named := os.environ.get("DLSP_MACHINE"):
        return named
    return f"{family(processor())}-{os.cpu_count() or 1}c"


def hardware() -> str:
    """For readers: `AMD EPYC 7763 64-Core Processor, 2 cores, 24 GB`."""
    cores, memory = os.cpu_count() or 1, psutil.virtual_memory().total / 2**30
    return f"{' '.join(processor().split())}, {cores} cores, {memory:.0f} GB"


def family(name: str) -> str:
    """The telling part of a processor's name: `13th Gen Intel(R) Core(TM) i7-1360P` is `i7-1360p`."""
    short = re.sub(_NOISE, " ", name.lower())
    return re.sub(r"[^a-z0-9]+", "-", short).strip("-") or platform.machine().lower()


def versions() -> dict[str, str]:
    packages = {name: metadata.version(name) for name in ("dlsp", "torch")}
    return {**packages, "python": platform.python_version()}


def commit() -> str:
    """The commit of the code, `+dirty` where anything but results differs from it; `unknown` outside git."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        dirty = _git("status", "--porcelain", "--", ".", ":!bench/results")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+dirty" if dirty else "")


def _git(*arguments: str) -> str:
    root = Path(__file__).parents[1]
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _thinned(lines: list[str]) -> list[str]:
    size = sum(len(line.encode()) + 4 for line in lines)
    if size <= SAMPLES_BYTES:
        return lines
    keep = len(lines) * SAMPLES_BYTES // size
    return [lines[index * len(lines) // keep] for index in range(keep)]
