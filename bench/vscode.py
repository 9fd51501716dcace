"""From the key to visible ghost text in a real VS Code, over the server's own time: `python -m bench.vscode`.

Real server, engine and model, headless Chromium. The 50 ms that VS Code waits before it asks are part of it.
"""

import argparse
import asyncio
import os
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import results
from bench.neovim import GAP, KEYS, SOURCE, STARTS
from dlsp.engine import launch
from dlsp.errors import UserError
from dlsp.models.catalogue import DEFAULT
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.node import Missing
from tests.e2e.vscode.provide import editor, vsix

PATIENCE_S = 10
WATCH = """
() => {
  const look = () => {
    const ghost = document.querySelector('.editor-group-container.active [class*="ghost-text"]');
    if (window.pressed && !window.seen && ghost?.textContent) window.seen = performance.now();
    requestAnimationFrame(look);
  };
  addEventListener('keydown', () => { window.pressed ??= performance.now(); }, true);
  look();
}
"""
RESET = "() => { window.pressed = window.seen = undefined; }"
TAKEN = "() => window.seen ? window.seen - window.pressed : null"


def sample(code: Code, log: Path, row: int, start: str, key: str) -> dict[str, Any] | None:
    """Milliseconds of one key; None where the server was quiet."""
    code.press("Escape")
    code.go(row, 1)
    code.press("Home", "Shift+End", "Backspace")
    code.insert(start)
    time.sleep(0.3)
    code.press("Escape")
    notes = len(log.read_text().splitlines())
    code.evaluate(RESET)
    code.press(key)
    deadline = time.monotonic() + PATIENCE_S
    while (taken := code.evaluate(TAKEN)) is None and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.1)
    own = [note for note in log.read_text().splitlines()[notes:] if "a suggestion" in note]
    if taken is None or not own:
        return None
    server = float(re.findall(r"([\d.]+) ms", own[0])[0])
    return {"key_to_visible_ms": round(taken, 2), "server_ms": server, "over_ms": round(taken - server, 2)}


def measure(rounds: int) -> list[dict[str, Any]]:
    """The samples of one VS Code, with an engine of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "project").mkdir()
        (folder / "state").mkdir()
        os.environ["DLSP_STATE_DIR"] = str(folder / "state")
        before, after = SOURCE.read_text().split(GAP)
        with Code(editor(), vsix(), folder, folder / "project", folder / "state") as code:
            code.open(before + after, "fines.py")
            code.until(lambda: code.status()[0] == "sparkle", "the engine is ready", 180)
            (log,) = folder.glob("user/logs/*/exthost1/dlsp.dlsp/dlsp.log")
            code.evaluate(WATCH)
            places = [(start, key) for start in STARTS for key in KEYS] * rounds
            taken = [sample(code, log, before.count("\n") + 1, start, key) for start, key in places]
        asyncio.run(launch.stop(DEFAULT))
    return [each for each in taken if each]


def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.vscode", description="From the key to visible ghost text.")
    parser.add_argument("--rounds", type=int, default=2, help="of 20 keys")
    asked = parser.parse_args()
    try:
        samples = measure(asked.rounds)
    except (Missing, UserError) as why:
        print(why, file=sys.stderr)
        return 2
    metrics: dict[str, float] = {"debounce_ms": 50, "keys": len(samples)}
    for name in ("over_ms", "server_ms", "key_to_visible_ms"):
        values = sorted(each[name] for each in samples)
        metrics[f"{name}/median"] = round(statistics.median(values), 2)
        metrics[f"{name}/p95"] = values[int(0.95 * (len(values) - 1))]
    print(metrics)
    print(f"Written to {results.write('vscode', f'python -m bench.vscode --rounds {asked.rounds}', metrics, samples)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
