"""`python -m dlsp_engine.train.pair UPDATE ADAPTER`: notes that a canvas adapter was measured with an infill update."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from safetensors.torch import load_file, save_file

from dlsp_engine.errors import exit_on_error
from dlsp_engine.model.update import Update, sha256


def pair(update: Path, adapter: Path) -> None:
    """Add the adapter's hash to the update's `canvas_adapters`. Raises EngineError, OSError."""
    metadata = Update.of(update).metadata
    earlier = json.loads(metadata.get("canvas_adapters", "[]"))
    metadata["canvas_adapters"] = json.dumps(sorted({*earlier, sha256(adapter)}))
    partial = update.with_name(f"{update.name}.partial")
    save_file(load_file(update), partial, metadata=metadata)
    partial.replace(update)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m dlsp_engine.train.pair", description=__doc__)
    parser.add_argument("update", type=Path)
    parser.add_argument("adapter", type=Path)
    options = parser.parse_args(arguments)
    with exit_on_error():
        pair(options.update, options.adapter)
    return 0


if __name__ == "__main__":
    sys.exit(main())
