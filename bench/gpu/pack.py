"""`python -m bench.gpu.pack`: a base's weights and what is done with them, as one stream in parts that fit into a call:
samples or gaps to train on, or gaps to fill.
"""

import argparse
import gzip
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from hashlib import file_digest, sha256
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from dlsp_engine.model.gguf_checkpoint import EMBEDDING, HEAD, Gguf
from dlsp_engine.train import fill_store

# Pure Python packages that reading the weights takes; the machine need not have them.
CARRIED = ("gguf", "filelock")


def pack(
    gguf: Path,
    tokenizer: Path,
    samples: Path,
    out: Path,
    part_bytes: int,
    start: Path | None = None,
    update: Path | None = None,
) -> int:
    """Writes out/01/part-01, out/02/part-02, …, the list of their hashes beside the last; gives their number.

    `samples` is a folder of samples or of gaps, `start` what is trained on from, or the canvas adapter that is
    measured, `update` the infill update of the weights.

    `out` is emptied when all has been read: OSError for what is missing leaves it as it was.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with gguf.open("rb") as file:
            (folder / "base.sha256").write_text(file_digest(file, "sha256").hexdigest())
        (folder / "trained").write_text(trained(samples))
        members = {name: folder / name for name in ("base.sha256", "trained")}
        members[f"base/{gguf.name}"] = _without_embedding(gguf, folder)
        members["weights/tokenizer.json"] = tokenizer
        members |= {f"samples/{path.name}": path for path in sorted(samples.glob("*.*")) if path.suffix != ".partial"}
        members |= {f"site/{path}": file for path, file in _packages()}
        if start:
            members["start.safetensors"] = start
        if update:
            members["update.safetensors"] = update
        with (folder / "stream").open("w+b") as stream:
            # Fast compression: most of it is packed already, and the embedding's zeros vanish.
            with (
                gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=1, mtime=0) as packed,
                tarfile.open(fileobj=packed, mode="w") as archive,
            ):
                for name, path in members.items():
                    archive.add(path, name)
            stream.seek(0)
            if out.exists():
                shutil.rmtree(out)
            return _cut(stream, out, part_bytes)


def trained(samples: Path) -> str:
    """The module of `dlsp_engine.train` that trains on what is in a folder."""
    if not (samples / fill_store.INDEX).exists():
        return "adapter"
    return {"infill": "base", "edit": "edits"}[fill_store.made(samples)["task"]]


def _cut(stream: BinaryIO, out: Path, part_bytes: int) -> int:
    hashes: list[str] = []
    while data := stream.read(part_bytes):
        number = f"{len(hashes) + 1:02}"
        (out / number).mkdir(parents=True)
        (out / number / f"part-{number}").write_bytes(data)
        hashes.append(f"{sha256(data).hexdigest()}  part-{number}\n")
    (out / f"{len(hashes):02}" / "parts.sha256").write_text("".join(hashes))
    return len(hashes)


def _without_embedding(gguf: Path, folder: Path) -> Path:
    """A copy whose embedding is zeros where the head holds the same matrix, finer."""
    copy = folder / gguf.name
    shutil.copyfile(gguf, copy)
    model = Gguf(gguf)
    if model.embedding == HEAD:
        spared = next(tensor for tensor in model.reader.tensors if tensor.name == EMBEDDING)
        with copy.open("r+b") as file:
            file.seek(int(spared.data_offset))
            file.write(bytes(int(spared.n_bytes)))
    return copy


def _packages() -> Iterator[tuple[str, Path]]:
    for name in CARRIED:
        spec = find_spec(name)
        assert spec
        assert spec.origin
        root = Path(spec.origin).parent
        for path in sorted(root.rglob("*.py")):
            yield f"{name}/{path.relative_to(root)}", path


def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.gpu.pack", description=__doc__)
    add = parser.add_argument
    add("--gguf", type=Path, required=True, metavar="FILE", help="the base")
    add("--tokenizer", type=Path, required=True, metavar="FILE", help="tokenizer.json of the converted base")
    add("--samples", type=Path, required=True, metavar="DIR", help="what `dlsp train samples` or `fills` made, or gaps")
    add("--from", dest="start", type=Path, metavar="FILE", help="what to train on from, or the adapter to measure")
    add("--update", type=Path, metavar="FILE", help="the infill update, added to the weights when they are converted")
    add("--out", type=Path, required=True, metavar="DIR", help="emptied first")
    add("--part-mb", type=float, default=56, metavar="MB", help="of a part (default 56)")
    asked = parser.parse_args()
    try:
        part_bytes = int(asked.part_mb * 1e6)
        count = pack(asked.gguf, asked.tokenizer, asked.samples, asked.out, part_bytes, asked.start, asked.update)
    except OSError as error:
        sys.exit(f"Nothing was packed: {error}.")
    print(f"{count} parts in {asked.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
