"""`python -m bench.gpu --out DIR`: checks every kernel on this machine's NVIDIA GPU, then measures the step.

Without a network, installs, or files other than those named. Each part runs in a process of its own: one that fails,
hangs or breaks the device leaves the others be. README.md beside this says what to carry and to call.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.gpu.report import report
from dlsp_kernels.ops import NAMES

# NVIDIA's checker of memory accesses, and what of it runs where it is installed.
SANITIZER, SANITIZERS = "compute-sanitizer", ("memcheck", "initcheck", "racecheck")


@dataclass(frozen=True)
class Part:
    """`seconds` is its limit. `warm` measures nothing and runs all that is launched once, which compiles it."""

    words: tuple[str, ...]
    seconds: int
    warm: bool = False
    tool: str = ""  # of compute-sanitizer, under which it runs

    @property
    def name(self) -> str:
        return "-".join(self.words)

    @property
    def label(self) -> str:
        return f"warm-{self.name}" if self.warm else f"{self.tool}-{self.name}" if self.tool else self.name


def parts(rehearse: bool) -> list[list[Part]]:
    """Parts of a group start together, which only those may that measure no time. The most telling come first: what
    comes last is left out when the time is over.
    """
    checks = [*(Part(("check", op), 240) for op in NAMES), Part(("invariants",), 240)]
    first = [
        Part(("steps", "0.5b"), 75),
        Part(("decode", "0.5b"), 60),
        Part(("profile", "0.5b"), 60),
        Part(("many",), 60),
    ]
    later = [
        Part(("steps", "1.5b"), 45),
        Part(("steps", "7b"), 60),
        *(Part(("steps", "0.5b", format), 40) for format in ("int8", "fp8", "int4")),
    ]
    peers = [Part(("peer", "installed"), 60), Part(("peer", "static"), 120)]
    if find_spec("vllm"):
        peers.append(Part(("peer", "vllm"), 180))
    tunes = [Part(("tune", name), 80) for name in ("gate_up", "down", "qkv", "out")]
    if rehearse:
        return [[replace(part, seconds=300)] for part in (*checks, *first, *tunes, *peers, *later)]
    groups = [[*checks, *map(_warm, first)], *([part] for part in first)]
    tools = SANITIZERS if shutil.which(SANITIZER) else ()
    sanitized = [[Part(("check", op, "small"), 240, tool=tool) for op in NAMES] for tool in tools]
    last = [
        [*map(_warm, tunes)],
        *([part] for part in (*tunes, peers[0])),
        [*map(_warm, later)],
        *([part] for part in (*later, *peers[1:], Part(("decode", "1.5b"), 60))),
    ]
    return [*groups, *last, *sanitized]


def _warm(part: Part) -> Part:
    return replace(part, seconds=240, warm=True)


def start(part: Part, folder: Path, options: Sequence[str], seconds: float, alone: bool) -> subprocess.Popen[bytes]:
    """Parts that start together take few threads each, but the one that computes on the CPU."""
    few = {} if alone or part.words[0] == "invariants" else {"OMP_NUM_THREADS": "2"}
    under = [SANITIZER, "--tool", part.tool, "--error-exitcode", "9"] if part.tool else []
    command = [
        *under,
        sys.executable,
        "-m",
        "bench.gpu.part",
        *part.words,
        "--out",
        str(folder / f"{part.label}.json"),
        "--limit",
        str(seconds),
        *options,
        *(["--warm"] if part.warm else []),
    ]
    log = (folder / f"{part.label}.log").open("wb")
    return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=os.environ | few)


def finished(part: Part, process: subprocess.Popen[bytes], began: float, limit: float, folder: Path) -> dict[str, Any]:
    """What a part found, and if it did not end well why."""
    why = ""
    try:
        if process.wait(max(1.0, began + limit - time.monotonic())):
            why = f"it ended with status {process.returncode}"
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        why = f"it took more than {limit:.0f} s"
    file = folder / f"{part.label}.json"
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"samples": []}
    if why:
        found.setdefault("failed", why)
        lines = (folder / f"{part.label}.log").read_text(errors="replace").strip().splitlines()
        found["log"] = lines[-40:]
    return {"part": part.label, "seconds": round(time.monotonic() - began, 1), **found}


def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.gpu", description=__doc__.splitlines()[0] if __doc__ else None)
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="DIR", help="for gpu.json and gpu.txt")
    add("--weights", type=Path, metavar="DIR", help="converted 0.5B weights and tokenizer; random ones without")
    add("--adapter", type=Path, metavar="FILE", help="the canvas adapter of these weights")
    add("--gaps", type=Path, metavar="FILE", help="gaps.jsonl.xz of dlsp_engine.train.samples")
    add("--minutes", type=float, default=9, help="parts that would begin later are left out (default 9)")
    add("--only", nargs="+", default=[], metavar="PART", help="names that begin so")
    add("--parts", nargs="+", default=[], metavar="PART", help="these names only")
    add("--rehearse", action="store_true", help="on a CPU, with tiny models and Triton's interpreter")
    asked = parser.parse_args()
    if why := missing(asked.rehearse, [getattr(asked, name) for name in ("weights", "adapter", "gaps")]):
        sys.exit(why)
    asked.out.mkdir(parents=True, exist_ok=True)
    options = ["--rehearse"] if asked.rehearse else []
    for name in ("weights", "adapter", "gaps"):
        if path := getattr(asked, name):
            options += [f"--{name}", str(path.resolve())]
    if asked.rehearse:
        os.environ |= {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as scratch:
        found = run(asked.rehearse, asked.only, asked.parts, options, 60 * asked.minutes, Path(scratch), asked.out)
    print((asked.out / "gpu.txt").read_text())
    return 0 if all("failed" not in one for one in found) else 1


def missing(rehearse: bool, files: Sequence[Path | None]) -> str:
    """Why nothing can be measured here, in a sentence; empty if it can."""
    if absent := next((path for path in files if path and not path.exists()), None):
        return f"There is no {absent}."
    try:
        import gguf
        import torch
        import triton
    except ImportError as error:
        return f"{error.name} is not installed here: the GPU's step needs PyTorch, Triton 3.6 or later, and gguf."
    assert gguf
    assert triton
    if rehearse or torch.cuda.is_available():
        return ""
    return "PyTorch sees no NVIDIA GPU here: add --rehearse to run the same parts with tiny models on a CPU."


def run(
    rehearse: bool,
    begin: Sequence[str],
    exact: Sequence[str],
    options: Sequence[str],
    seconds: float,
    scratch: Path,
    out: Path,
) -> list[dict[str, Any]]:
    """The parts whose names are in `exact` or begin as one of `begin`, all if both are empty. What was found is written
    after each part: a command that is killed leaves what it has.
    """
    end = time.monotonic() + seconds
    found: list[dict[str, Any]] = []
    for group in parts(rehearse):
        named = [part for part in group if part.name in exact or part.name.startswith(tuple(begin))]
        wanted = named if begin or exact else group
        began = time.monotonic()
        if end - began < 5:
            found += [{"part": part.label, "samples": [], "failed": "no time was left for it"} for part in wanted]
            write(out, found, rehearse)
            continue
        limits = [min(part.seconds, end - began) for part in wanted]
        alone = len(wanted) == 1
        running = [start(part, scratch, options, limit, alone) for part, limit in zip(wanted, limits, strict=True)]
        for part, process, limit in zip(wanted, running, limits, strict=True):
            found.append(finished(part, process, began, limit, scratch))
            print(f"{found[-1]['part']}: {found[-1].get('failed') or 'done'}, {found[-1]['seconds']} s", flush=True)
        write(out, found, rehearse)
    return found


def write(folder: Path, found: list[dict[str, Any]], rehearse: bool) -> None:
    samples = [{"part": one["part"], **sample} for one in found for sample in one["samples"]]
    head = {"bench": "gpu", "rehearsal": rehearse, **machine(), "date": datetime.now(UTC).isoformat(timespec="seconds")}
    failed = {one["part"]: {key: one.get(key) for key in ("failed", "log")} for one in found if "failed" in one}
    seconds = {one["part"]: one.get("seconds") for one in found}
    body = head | {"command": " ".join(sys.argv), "failed": failed, "seconds": seconds, "samples": samples}
    (folder / "gpu.json").write_text(json.dumps(body, indent=1))
    (folder / "gpu.txt").write_text(report(body))


def machine() -> dict[str, Any]:
    import torch
    import triton

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    versions = {"python": platform.python_version(), "torch": torch.__version__, "triton": triton.__version__}
    return {"machine": gpu, "versions": versions}


if __name__ == "__main__":
    sys.exit(main())
