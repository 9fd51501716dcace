"""From the key to visible ghost text in a real Neovim, over the server's own time: `python -m bench.neovim`.

Real server, engine and model. The plugin's debounce (10 ms) is part of what is measured.
"""

import argparse
import re
import sys
import threading
import time
from typing import Any

from bench import keystroke
from bench.command import MEND, at_least, guarded, line, written
from tests.e2e.neovim.neovim import Neovim
from tests.e2e.neovim.provide import VERSIONS, nvim
from tests.e2e.provide import Missing

PATIENCE_S = 20


def sample(vim: Neovim, row: int, start: str, key: str) -> dict[str, Any] | None:
    """Milliseconds of one key; None where the server was quiet."""
    vim.keys("<Esc>")
    vim.rpc("nvim_buf_set_lines", 0, row, row + 1, True, [start])
    vim.go(row + 1, len(start))
    vim.command("normal! zt")
    vim.keys("A")
    time.sleep(0.1)
    vim.keys("<C-]>")
    notes = len(vim.log())
    visible = threading.Event()
    seen: list[float] = []

    def drawn(at: float) -> None:
        if len(vim.drawn.lines()[0]) > len(start) + 1 and not seen:
            seen.append(at)
            visible.set()

    vim.drawn.drawn = drawn
    began = time.perf_counter()
    vim.rpc("nvim_input", key)
    for _ in range(PATIENCE_S):
        if visible.wait(1) or any("quiet" in note for note in vim.log()[notes:]):
            break
    vim.drawn.drawn = lambda at: None
    own = [note for note in vim.log()[notes:] if "a suggestion" in note]
    if not seen or not own:
        return None
    server = float(re.findall(r"([\d.]+) ms", own[-1])[-1])
    return keystroke.sample((seen[0] - began) * 1000, server)


def measure(version: str, rounds: int) -> list[dict[str, Any]]:
    """The samples of one Neovim, with an engine of its own."""
    with keystroke.scratch() as (folder, before, after):
        file = folder / "fines.py"
        file.write_text(before + after)
        with Neovim(nvim(version), folder / "own", file, folder / "state") as vim:
            vim.wait_for_server()
            taken = [sample(vim, before.count("\n"), *place) for place in keystroke.PLACES * rounds]
    return [{"neovim": version, **each} for each in taken if each]


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.neovim", description="From the key to visible ghost text.")
    parser.add_argument("--rounds", type=at_least(1), default=2, help="of 20 keys for each Neovim")
    asked = parser.parse_args()
    samples = []
    try:
        for version in VERSIONS:
            samples += measure(version, asked.rounds)
    except Missing as why:
        print(why, file=sys.stderr)
        return MEND
    metrics: dict[str, float] = {"debounce_ms": 10}
    for version in VERSIONS:
        metrics |= keystroke.metrics([each for each in samples if each["neovim"] == version], f"{version}/")
    print(metrics)
    return written("neovim", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
