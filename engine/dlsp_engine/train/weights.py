"""Converts a GGUF file to the weights that training reads, in bf16, and prints their folder: `dlsp train weights`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from dlsp_engine.engine import ADAPTERS
from dlsp_engine.errors import exit_on_error
from dlsp_engine.model.convert import converted
from dlsp_engine.model.update import Update


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="dlsp train weights", description="Convert a model for training.")
    parser.add_argument("--gguf", type=Path, required=True, metavar="FILE", help="what `dlsp model path` prints")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the weights' folder is made below it")
    parser.add_argument("--no-infill-update", action="store_true", help="the base as it was published")
    options = parser.parse_args(arguments)
    with exit_on_error():
        update = None if options.no_infill_update else Update.beside(ADAPTERS, options.gguf)
        print(converted(options.gguf, options.out, update=update))
    return 0


if __name__ == "__main__":
    sys.exit(main())
