"""One part of `python -m bench.gpu` in a process of its own: `python -m bench.gpu.part NAME … --out FILE`."""

import argparse
import json
import os
import sys
import traceback
from importlib import import_module
from pathlib import Path

from bench.gpu.setting import Setting


def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.gpu.part", description=__doc__)
    parser.add_argument("part", nargs="+", help="a module of bench.gpu.parts, and what its `run` takes")
    parser.add_argument("--out", type=Path, required=True)
    for name in ("weights", "adapter", "gaps"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--rehearse", action="store_true")
    asked = parser.parse_args()
    name, *more = asked.part
    if name == "check":
        os.environ["CUDA_LAUNCH_BLOCKING"] = "1"  # or a later case is blamed
    setting = Setting(asked.rehearse, asked.weights, asked.adapter, asked.gaps)
    try:
        found = {"samples": import_module(f"bench.gpu.parts.{name}").run(setting, *more)}
    except Exception as error:
        traceback.print_exc()
        found = {"samples": [], "failed": f"{type(error).__name__}: {error}"[:2000]}
    asked.out.write_text(json.dumps(found, indent=1))
    return 1 if "failed" in found else 0


if __name__ == "__main__":
    sys.exit(main())
