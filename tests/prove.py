"""The long proofs, in parts: `make prove` runs all of them, `make prove PART=identity` one.

A part runs `python -m MODULE ARGUMENTS` for each of its commands. A test that is marked `prove` runs in the part that
names its folder.
"""

import subprocess
import sys
import time
from collections.abc import Sequence

ALL = "all"


def _marked(*paths: str) -> list[str]:
    return ["pytest", "-m", "prove", *paths]


# What is proved, and the commands that prove it.
PARTS: dict[str, tuple[str, list[list[str]]]] = {
    "server": ("long random editing, hostile workspaces and texts", [_marked("tests/dlsp")]),
    "engine": ("memory over 1,000 requests, a training run", [_marked("tests/engine")]),
    "faults": ("killed processes, full disks, damaged messages", [_marked("tests/faults")]),
    "editors": ("500 random actions in Neovim and in VS Code", [_marked("tests/e2e")]),
    "day": (
        "24 hours of mixed use in virtual time, eight hours of keys against the real engine",
        [["bench.day", "--hours", "24"], ["bench.day", "--hours", "8", "--real"]],
    ),
    "soak": (
        "two hours' mixed traffic of four clients, replayed fast: no request lost, memory and typing flat",
        [["bench.traffic", "--hours", "2"]],
    ),
    "identity": ("verified decoding is ordinary decoding on 200 real gaps", [["bench.identity", "--gaps", "200"]]),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one part, or all; 1 if a command failed, 2 if there is no such part, else 0."""
    (name,) = (sys.argv[1:] if arguments is None else arguments) or [ALL]
    if name not in (ALL, *PARTS):
        lines = [f"  {part}: {what}" for part, (what, _) in PARTS.items()]
        print("\n".join([f"There is no part {name}. The parts are:", *lines]), file=sys.stderr)
        return 2
    lines, failed = [], False
    for part in PARTS if name == ALL else [name]:
        began = time.monotonic()
        broken = _failed(part)
        failed |= bool(broken)
        how = f"FAILED: {'; '.join(broken)}" if broken else "passed"
        lines.append(f"{(time.monotonic() - began) / 60:6.1f} min  {part}: {PARTS[part][0]}: {how}")
    print("\n".join(["", *lines]), file=sys.stderr)
    return int(failed)


def _failed(part: str) -> list[str]:
    """Run the commands of a part, all of them, and return those that failed."""
    failed = []
    _, commands = PARTS[part]
    for command in commands:
        print(f"\n$ python -m {' '.join(command)}", file=sys.stderr, flush=True)
        if subprocess.run([sys.executable, "-m", *command], check=False).returncode:
            failed.append(" ".join(command))
    return failed


if __name__ == "__main__":
    sys.exit(main())
