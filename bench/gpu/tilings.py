"""`python -m bench.gpu.tilings GPU.json`: the fastest tilings that `tune` found, into `dlsp_kernels/tilings.json`."""

import argparse
import json
from pathlib import Path
from typing import Any

from dlsp_kernels.tiling import MEASURED


def taken(found: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """`before` with the tilings of one GPU's measurements in place of those it has of that GPU. Where steps of several
    numbers of rows have one tiling, the widest of them decides.
    """
    entries: dict[tuple[Any, ...], list[Any]] = {}
    tuned = [sample for sample in found["samples"] if "entry" in sample]
    for sample in sorted(tuned, key=lambda sample: sample["rows"]):
        outs, ins, form, m, *_ = sample["entry"]
        entries[outs, ins, form, m] = sample["entry"]
    return before | ({found["machine"]: [*entries.values()]} if entries else {})


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.gpu.tilings", description=__doc__)
    parser.add_argument("found", type=Path, metavar="GPU.json", help="as `python -m bench.gpu` wrote it")
    asked = parser.parse_args()
    before = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    MEASURED.write_text(json.dumps(taken(json.loads(asked.found.read_text()), before), indent=1) + "\n")
    print(f"Written to {MEASURED}")


if __name__ == "__main__":
    main()
