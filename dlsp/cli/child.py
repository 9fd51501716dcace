"""Commands that are another Python module, run in a process of its own: this one never imports PyTorch."""

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def add(subparsers: Any, name: str, help: str) -> Any:
    """A sub-parser that leaves all arguments, `--help` too, to the module: none begins with NUL."""
    parser = subparsers.add_parser(name, help=help, add_help=False, prefix_chars="\0")
    parser.add_argument("arguments", nargs="*")
    return parser


def run(module: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """The exit status of `python -m module`, which ends when this process is told to; Ctrl-C it gets by itself."""
    # -P: a torch.py in the current folder must not be taken for the library.
    child = subprocess.Popen([sys.executable, "-P", "-m", module, *arguments], env=environment)
    before = signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    try:
        while True:
            try:
                return child.wait()
            except KeyboardInterrupt:
                continue
    finally:
        signal.signal(signal.SIGTERM, before)
