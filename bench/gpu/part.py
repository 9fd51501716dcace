"""One part of `python -m bench.gpu` in a process of its own: `python -m bench.gpu.part NAME … --out FILE`."""

import argparse
import faulthandler
import json
import os
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.gpu.setting import Setting


def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.gpu.part", description=__doc__)
    parser.add_argument("part", nargs="+", help="a module of bench.gpu.parts, and what its `run` takes")
    parser.add_argument("--out", type=Path, required=True)
    for name in ("weights", "adapter", "gaps"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--warm", action="store_true", help="launch everything once and measure nothing")
    parser.add_argument(
        "--limit", type=float, default=3600, help="seconds, just before which the log says what it does"
    )
    asked = parser.parse_args()
    name, *more = asked.part
    if name == "check":
        os.environ["CUDA_LAUNCH_BLOCKING"] = "1"  # or a later case is blamed
    faulthandler.dump_traceback_later(max(1.0, asked.limit - 3))
    setting = Setting(asked.rehearse, asked.warm, asked.weights, asked.adapter, asked.gaps)
    found: dict[str, Any] = {"samples": []}
    try:
        for sample in import_module(f"bench.gpu.parts.{name}").run(setting, *more):
            if not asked.warm:
                found["samples"].append(sample)
                keep(asked.out, found)  # a part that is killed leaves what it has
    except Exception as error:
        traceback.print_exc()
        found["failed"] = f"{type(error).__name__}: {error}"[:2000]
    keep(asked.out, found)
    return 1 if "failed" in found else 0


def keep(path: Path, found: dict[str, Any]) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(found, indent=1))
    partial.replace(path)


if __name__ == "__main__":
    sys.exit(main())
