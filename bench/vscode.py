"""From the key to visible ghost text in a real VS Code, over the server's own time: `python -m bench.vscode`.

Real server, engine and model, headless Chromium. The 50 ms that VS Code waits before it asks are part of it.
"""

import argparse
import re
import sys
import time
from pathlib import Path
from typing import Any

from bench import keystroke
from bench.command import MEND, at_least, guarded, line, written
from tests.e2e.provide import Missing
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.provide import editor, vsix
from tests.e2e.vscode.settings import HIDE

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
    code.press(HIDE)
    code.go(row, 1)
    code.press("Home", "Shift+End", "Backspace")
    code.insert(start)
    time.sleep(0.3)
    code.until(lambda: code.status()[0] in ("sparkle", "dash"), "nothing is asked any more")
    code.press(HIDE)  # Esc would tell the server that this is not wanted here
    code.until(lambda: not code.ghost(), "nothing is shown")
    notes = len(log.read_text().splitlines())
    code.browser.evaluate(RESET)
    code.press(key)
    deadline = time.monotonic() + PATIENCE_S
    while (taken := code.browser.evaluate(TAKEN)) is None and time.monotonic() < deadline:
        if any("quiet" in note for note in log.read_text().splitlines()[notes:]):
            break
        time.sleep(0.05)
    time.sleep(0.1)
    own = [note for note in log.read_text().splitlines()[notes:] if "a suggestion" in note]
    if taken is None or not own:
        return None
    server = float(re.findall(r"([\d.]+) ms", own[0])[0])
    return keystroke.sample(taken, server)


def measure(rounds: int) -> list[dict[str, Any]]:
    """The samples of one VS Code, with an engine of its own."""
    with keystroke.scratch() as (folder, before, after):
        (folder / "project").mkdir()
        with Code(editor(), vsix(), folder, folder / "project", folder / "state") as code:
            code.open(before + after, "fines.py")
            code.until(lambda: code.status()[0] == "sparkle", "the engine is ready", 180)
            (log,) = folder.glob("user/logs/*/exthost1/dlsp.dlsp/dlsp.log")
            code.browser.evaluate(WATCH)
            row = before.count("\n") + 1
            taken = [sample(code, log, row, *place) for place in keystroke.PLACES * rounds]
    return [each for each in taken if each]


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.vscode", description="From the key to visible ghost text.")
    parser.add_argument("--rounds", type=at_least(1), default=2, help="of 20 keys")
    asked = parser.parse_args()
    try:
        samples = measure(asked.rounds)
    except Missing as why:
        print(why, file=sys.stderr)
        return MEND
    metrics = {"debounce_ms": 50, **keystroke.metrics(samples)}
    print(metrics)
    return written("vscode", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
