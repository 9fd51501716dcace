"""`python -m bench.gpu.convert FOLDER`: weights.safetensors from the unpacked base, beside its tokenizer."""

import sys
from pathlib import Path

from dlsp_engine.model import convert
from dlsp_engine.model.update import Update


def main() -> int:
    folder = Path(sys.argv[1])
    (gguf,) = (folder / "base").glob("*.gguf")
    given = folder / "update.safetensors"
    update = Update.of(given) if given.exists() else None
    # Not `converted`: it would make the tokenizer anew, by a library that is slow to load.
    convert._weights(convert.Gguf(gguf), gguf.name, folder / "weights" / "weights.safetensors", print, update)
    return 0


if __name__ == "__main__":
    sys.exit(main())
