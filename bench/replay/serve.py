"""dlsp's language server as measurements need it, over stdio: `python -m bench.replay.serve --without=recent`."""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dlsp import cli
from dlsp.completions.gate import calibration
from dlsp.context.build import SOURCES
from dlsp.context.workspace import Workspace

OPEN, NONE = "open", "none"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m bench.replay.serve", description=__doc__)
    parser.add_argument(
        "--without", default="", help=f"sources of context, parted by +, or {NONE}: {', '.join(SOURCES)}"
    )
    parser.add_argument("--gate", choices=[OPEN], help="every answer is shown, however unlikely it is to be right")
    asked = parser.parse_args(arguments)
    if asked.without:
        Workspace.without = () if asked.without == NONE else asked.without.split("+")
    with tempfile.TemporaryDirectory() as folder:
        if asked.gate == OPEN:
            calibration.FILE = _open(Path(folder) / "calibration.json")
        return cli.main(["--stdio"])


def _open(file: Path) -> Path:
    """Write the gate's table without thresholds."""
    table = json.loads(calibration.FILE.read_text(encoding="utf-8"))
    table["least"] = {kind: dict.fromkeys(by, 0.0) for kind, by in table["least"].items()}
    file.write_text(json.dumps(table), encoding="utf-8")
    return file


if __name__ == "__main__":
    sys.exit(main())
