"""Index 10,000 files, type in a file of 50,000 lines, set anchors: `python -m bench.context`.

The files are copies of installed Python packages. The index is made by the process that makes it in life, at the
lowest priority; typing is timed while it works, and again when it is done.
"""

import argparse
import os
import random
import shutil
import statistics
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from bench.command import at_least, guarded, line, written
from dlsp.completions.anchor import Anchor
from dlsp.context.workspace import Workspace
from dlsp.ignore.rules import MAX_FILE_BYTES
from dlsp.index import store
from dlsp.index.process import Keeper
from dlsp.index.store import Store
from dlsp.syntax.broken import cut_broken

KEYS = 300
WORDS = "value = self.compute(first, second) + other[index]\n        "


def sources() -> Iterator[Path]:
    """Python files installed beside this one, the large packages first."""
    site = Path(sysconfig.get_paths()["purelib"])
    folders = sorted(
        (each for each in site.iterdir() if each.is_dir()), key=lambda each: -sum(1 for _ in each.rglob("*.py"))
    )
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            if 0 < file.stat().st_size < MAX_FILE_BYTES:
                yield file


def workspace(root: Path, files: int) -> list[Path]:
    made: list[Path] = []
    for number, file in zip(range(files), sources(), strict=False):
        target = root / f"part{number // 200}" / f"{number}" / file.name
        target.parent.mkdir(parents=True)
        shutil.copyfile(file, target)
        made.append(target)
    return made


def long_document(files: list[Path], lines: int) -> str:
    text: list[str] = []
    for file in files:
        text += file.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        if len(text) >= lines:
            return "".join(text[:lines])
    raise SystemExit("There are not enough lines in the installed packages.")


def typed(text: str, keys: int) -> list[float]:
    """Milliseconds a keystroke: the tree made new, the anchor looked at, a suggestion checked against the tree."""
    place = Workspace(None)
    file = Path("long.py")
    source = place.source(file)
    assert source
    at = text.index("\n        return ", len(text) // 2) + 9
    before, after = text[:at], text[at:]
    anchor = Anchor(before, after, place.context(file, before, after))
    times = []
    for number in range(keys):
        before += WORDS[number % len(WORDS)]
        began = time.perf_counter()
        if anchor.middle(before, after) is None:
            anchor = Anchor(before, after, place.context(file, before, after))
        source.update(before + after)
        times.append(1e3 * (time.perf_counter() - began))
    return times


def checked(text: str, keys: int) -> list[float]:
    """Milliseconds to check a suggestion against the tree, the filter that costs most."""
    place = Workspace(None)
    source = place.source(Path("long.py"))
    assert source
    at = text.index("\n        return ", len(text) // 2) + 9
    times = []
    for number in range(keys):
        before, after = text[:at] + WORDS[: number % 40], text[at:]
        source.update(before + after)
        began = time.perf_counter()
        cut_broken("compute(first)", before, after, source)
        times.append(1e3 * (time.perf_counter() - began))
    return times


def anchored(root: Path, files: list[Path], anchors: int) -> list[float]:
    """Milliseconds to choose a whole context, other files included, at random places."""
    chance, place, times = random.Random(0), Workspace(root), []
    for file in chance.sample(files, anchors):
        text = file.read_text(encoding="utf-8", errors="replace")
        at = chance.randrange(len(text))
        place.source(file).update(text)  # type: ignore[union-attr]  # parsed when it was opened
        began = time.perf_counter()
        place.context(file, text[:at], text[at:])
        times.append(1e3 * (time.perf_counter() - began))
    place.close()
    return times


def quantiles(name: str, times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {f"{name}_p50_ms": statistics.median(ordered), f"{name}_p95_ms": ordered[int(0.95 * len(ordered))]}


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.context", description="How long index and context take.")
    parser.add_argument("--files", type=at_least(KEYS), default=10_000)
    parser.add_argument("--lines", type=int, default=50_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["DLSP_CACHE_DIR"] = f"{temporary}/cache"
        root = Path(temporary) / "workspace"
        files = workspace(root, asked.files)
        text = long_document(files, asked.lines)
        began, meanwhile, peak = time.perf_counter(), [], 0
        keeper = Keeper(root)
        process = psutil.Process(keeper.pid)
        while True:
            index = Store.read(store.place(root))
            done = index.count()[0] if index else 0
            if index:
                index.close()
            if done >= len(files):
                break
            peak = max(peak, process.memory_info().rss)
            if done and len(meanwhile) < 3 * KEYS:
                meanwhile += typed(text, KEYS)
            time.sleep(0.05)
        seconds, cpu = time.perf_counter() - began, sum(process.cpu_times()[:2])
        metrics: dict[str, float] = {
            "files": len(files),
            "index_seconds": seconds,
            "index_cpu_seconds": cpu,
            "index_mb": sum(each.stat().st_size for each in store.place(root).parent.iterdir()) / 1e6,
            "index_peak_mb": peak / 1e6,
            "lines": text.count("\n"),
        }
        first = time.perf_counter()
        Workspace(None).source(Path("long.py")).update(text)  # type: ignore[union-attr]
        metrics["first_parse_ms"] = 1e3 * (time.perf_counter() - first)
        metrics |= quantiles("keystroke", typed(text, KEYS)) | quantiles("keystroke_while_indexing", meanwhile or [0.0])
        metrics |= quantiles("check", checked(text, KEYS)) | quantiles("context", anchored(root, files, KEYS))
        keeper.stop()
    metrics = {name: round(value, 3) for name, value in metrics.items()}
    for name, value in metrics.items():
        print(f"{name:>32} {value:g}")
    return written("context", line(parser, asked), metrics, [])


if __name__ == "__main__":
    sys.exit(main())
