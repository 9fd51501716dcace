"""Python packages: wheels from the package index, downloaded by pip."""

import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from tempfile import mkdtemp

from dlsp_engine.errors import EngineError

from .. import licences
from ..package import File, Languages, Package, language
from .archives import ahead

SOURCE = "pypi"
_GROUP = 10
_PIP = ("-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--quiet")
_LICENCE_FILE = re.compile(r"\.dist-info/(licenses/)?(licen[cs]e|copying)[^/]*$", re.IGNORECASE)


def packages(names: Sequence[str], languages: Languages, folder: Path) -> Iterator[Package]:
    """Yield the newest wheel of each package, in the order of the names."""

    def fetch(group: Sequence[str]) -> tuple[Path, dict[str, Path]]:
        place = Path(mkdtemp(dir=folder))
        return place, _download(group, place)

    groups = [names[start : start + _GROUP] for start in range(0, len(names), _GROUP)]
    for group, (place, wheels) in zip(groups, ahead(fetch, groups), strict=True):
        for name in group:
            wheel = wheels.get(normal(name))
            yield _read(name, wheel, languages) if wheel else Package(SOURCE, name, problem="no wheel")
        shutil.rmtree(place)


def normal(name: str) -> str:
    """Return a package's name in the form in which the index compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _download(names: Sequence[str], folder: Path) -> dict[str, Path]:
    """Download wheels and return them by normal name. If one name fails, pip's whole call fails; each half of the names
    is then tried alone.
    """
    command = [sys.executable, *_PIP, "--dest", str(folder), *names]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        _explain(result.stderr)
    if result.returncode == 0 or len(names) == 1:
        return {normal(path.name.partition("-")[0]): path for path in folder.glob("*.whl")}
    middle = len(names) // 2
    return _download(names[:middle], folder) | _download(names[middle:], folder)


def _explain(errors: str) -> None:
    """Raise EngineError if the failure is not one package's own."""
    if "No module named pip" in errors:
        raise EngineError("pip was not found: run `python -m ensurepip`, then this again.")
    if "Retrying" in errors:
        raise EngineError("The package index does not answer: check the network and run this again.")


def _read(name: str, wheel: Path, languages: Languages) -> Package:
    try:
        with zipfile.ZipFile(wheel) as archive:
            paths = archive.namelist()
            metadata = _metadata(archive, paths)
            licence = _licence(archive, paths, metadata)
            files = [
                File(path, kind, licence, archive.read(path)) for path in paths if (kind := language(path, languages))
            ]
    except (zipfile.BadZipFile, StopIteration, OSError) as error:
        return Package(SOURCE, name, problem=f"unreadable wheel: {error}")
    return Package(SOURCE, name, metadata["Version"] or "", files)


def _metadata(archive: zipfile.ZipFile, paths: Sequence[str]) -> Message:
    path = next(path for path in paths if re.fullmatch(r"[^/]+\.dist-info/METADATA", path))
    return HeaderParser().parsestr(archive.read(path).decode("utf-8", "replace"))


def _licence(archive: zipfile.ZipFile, paths: Sequence[str], metadata: Message) -> str:
    texts = [archive.read(path).decode("utf-8", "replace") for path in paths if _LICENCE_FILE.search(path)]
    return licences.from_metadata(
        metadata["License-Expression"] or "",
        metadata.get_all("Classifier", []),
        metadata["License"] or "",
        texts,
    )
