"""`python -m bench.gpu.tree`: packs what `python -m bench.gpu` needs for a machine that has nothing of it, and says
which calls to make there.
"""

import argparse
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

from bench.gpu.__main__ import parts

ROOT = Path(__file__).parents[2]

# Of these folders all files that git knows, but no weights.
FOLDERS, WEIGHTS = ("bench", "engine", "kernels"), "engine/dlsp_engine/adapters"

# Files that `python -m bench.gpu` leaves and the most megabytes of one, and what a call takes beside its parts' limits.
LEFT, LEFT_MB, START_S = 2, 1, 20


def files() -> list[str]:
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z", *FOLDERS]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0")
    return sorted(name for name in found if name and not name.startswith(WEIGHTS) and (ROOT / name).is_file())


def calls(minutes: float) -> Iterator[list[str]]:
    """The parts of each call, in order: as many as take `minutes` by their own limits. Checks come first; parts that
    start together stay together.
    """
    call: list[str] = []
    left = 60 * minutes - START_S
    for group in parts(rehearse=False):
        names, seconds = [part.name for part in group if not part.warm], max(part.seconds for part in group)
        if not names:
            continue
        if call and seconds > left:
            yield call
            call, left = [], 60 * minutes - START_S
        call += names
        left -= seconds
    yield call


def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.gpu.tree", description=__doc__)
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="FILE", help="the archive, tar.gz")
    add("--tree-mb", type=float, default=64, metavar="MB", help="that the unpacked tree may take (default 64)")
    add("--call-minutes", type=float, default=10, metavar="MINUTES", help="that a call may take (default 10)")
    add("--files", type=int, default=8, help="that a call may bring back (default 8)")
    add("--file-mb", type=float, default=16, metavar="MB", help="that each of these may take (default 16)")
    asked = parser.parse_args()
    names = files()
    size = sum((ROOT / name).stat().st_size for name in names)
    longest = max(part.seconds for group in parts(rehearse=False) for part in group) + START_S
    if size > 1e6 * asked.tree_mb:
        sys.exit(f"The tree takes {size / 1e6:.1f} MB, more than the {asked.tree_mb:g} MB that may travel.")
    if 60 * asked.call_minutes < longest:
        sys.exit(f"A part takes up to {longest} s, more than the {asked.call_minutes:g} minutes of a call.")
    if asked.files < LEFT:
        sys.exit(f"A call leaves {LEFT} files, more than the {asked.files} that may come back.")
    if asked.file_mb < LEFT_MB:
        sys.exit(f"A call leaves files of up to {LEFT_MB} MB, more than the {asked.file_mb:g} MB that may come back.")
    with tarfile.open(asked.out, "w:gz") as archive:
        for name in names:
            archive.add(ROOT / name, name)
    print(f"{len(names)} files, {size / 1e6:.1f} MB, in {asked.out}. In the unpacked folder:")
    for call in calls(asked.call_minutes):
        print(
            f'PYTHONPATH=.:engine:kernels python3 -m bench.gpu --out "$OUT" --minutes {asked.call_minutes - 1:g}',
            end="",
        )
        print(f" --parts {' '.join(call)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
