"""Packs the Neovim plugin as an archive of its own: `python editors/pack.py FOLDER`.

FOLDER gets `dlsp.nvim.tar.gz`, with one folder `dlsp.nvim` in it: what a repository of the plugin alone would hold. The
same sources give the same bytes.
"""

import gzip
import io
import sys
import tarfile
from pathlib import Path

EDITORS = Path(__file__).parent
NAME = "dlsp.nvim"
PARTS = ("doc", "lsp", "lua", "plugin")


def pack(folder: Path) -> Path:
    """The archive's file."""
    plugin = EDITORS / "neovim"
    files = {
        each.relative_to(plugin): each
        for part in PARTS
        for each in sorted((plugin / part).rglob("*"))
        if each.is_file() and each.name != "tags"
    }
    files[Path("LICENSE")] = EDITORS.parent / "LICENSE"
    files[Path("README.md")] = plugin / "README.md"
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{NAME}.tar.gz"
    with (
        archive.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for name, file in files.items():
            entry = tarfile.TarInfo(f"{NAME}/{name.as_posix()}")
            data = file.read_bytes()
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return archive


if __name__ == "__main__":
    print(pack(Path(sys.argv[1])))
