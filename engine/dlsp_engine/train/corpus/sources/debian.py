"""Packages of a Debian release for languages other than Python, with licences file by file."""

import lzma
import os
import re
import shutil
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp

import httpx

from dlsp_engine.errors import EngineError

from ..package import File, Languages, Package, language
from .archives import ahead, read
from .copyright import Copyright, fields

SOURCE = "debian"
RELEASE = "trixie"
_TIMEOUT_S = 60

# The folder of a Rust crate in its package, and the paths of copyright files.
_CRATE = re.compile(r"^share/cargo/registry/[^/]+/")
_COPYRIGHT = re.compile(r"(debian|share/doc/[^/]+)/copyright")

Archives = dict[str, str]


@dataclass(frozen=True)
class _Release:
    """A package in the release's index: its version, and its archives as path on the mirror -> SHA-256."""

    version: str
    archives: Archives


def mirror() -> str:
    """Return the address of a Debian mirror, from DLSP_DEBIAN_MIRROR. Raises EngineError if that is not set."""
    if address := os.environ.get("DLSP_DEBIAN_MIRROR"):
        return address.rstrip("/")
    raise EngineError(
        "Set DLSP_DEBIAN_MIRROR to the address of a Debian mirror (the folder that holds dists and pool)."
    )


def sources(names: Sequence[str], languages: Languages, folder: Path) -> Iterator[Package]:
    """Yield the release's source packages, in the order of the names."""
    return _packages("source/Sources", _source_archives, names, languages, folder)


def binaries(names: Sequence[str], languages: Languages, folder: Path) -> Iterator[Package]:
    """Yield the release's binary packages, in the order of the names. A `-dev` package may contain source code."""
    return _packages("binary-amd64/Packages", _binary_archives, names, languages, folder)


def _source_archives(fields: dict[str, str]) -> Archives:
    lines = [line.split() for line in fields["checksums-sha256"].splitlines()]
    return {
        f"{fields['directory']}/{name}": checksum
        for checksum, _, name in lines
        if ".tar." in name and not name.endswith(".asc")
    }


def _binary_archives(fields: dict[str, str]) -> Archives:
    return {fields["filename"]: fields["sha256"]}


def _packages(
    section: str,
    archives: Callable[[dict[str, str]], Archives],
    names: Sequence[str],
    languages: Languages,
    folder: Path,
) -> Iterator[Package]:
    wanted = set(names)
    index: dict[str, _Release] = {}
    for stanza in lzma.decompress(_get(f"dists/{RELEASE}/main/{section}.xz")).decode().split("\n\n"):
        name = stanza.partition("\n")[0].removeprefix("Package: ")
        if name in wanted:
            stated = fields(stanza)
            index[name] = _Release(stated["version"], archives(stated))

    def fetch(name: str) -> tuple[str, Path]:
        place = Path(mkdtemp(dir=folder))
        _download(index[name].archives if name in index else {}, place)
        return name, place

    for name, place in ahead(fetch, names):
        if any(place.iterdir()):
            yield _read(name, index[name].version, place, languages)
        else:
            yield Package(SOURCE, name, problem=f"not in {RELEASE}, or not on the mirror")
        shutil.rmtree(place)


def _get(path: str) -> bytes:
    """Return the file at a path on the mirror, empty if there is none. Raises EngineError if the mirror does not
    answer.
    """
    try:
        response = httpx.get(f"{mirror()}/{path}", follow_redirects=True, timeout=_TIMEOUT_S)
        return b"" if response.status_code == httpx.codes.NOT_FOUND else response.raise_for_status().content
    except httpx.HTTPError as error:
        raise EngineError(f"{mirror()} does not answer: check the network and run this again.") from error


def _download(archives: Archives, folder: Path) -> None:
    """Write a package's archives into a folder; none of them if one is missing."""
    contents = {path: _get(path) for path in archives}
    if not all(contents.values()):
        return
    for path, data in contents.items():
        if sha256(data).hexdigest() != archives[path]:
            raise EngineError(f"{mirror()}/{path} arrived damaged: run this again.")
        (folder / path.rpartition("/")[2]).write_bytes(data)


def _read(name: str, version: str, folder: Path, languages: Languages) -> Package:
    copyright = Copyright("")
    found: list[tuple[str, str, bytes]] = []
    try:
        for archive in sorted(folder.iterdir()):
            top = "debian/" if ".debian.tar" in archive.name else ""
            for path, file in read(archive):
                if _COPYRIGHT.fullmatch(top + path):
                    copyright = Copyright(file.read().decode("utf-8", "replace"))
                elif not top and not path.startswith("debian/") and (kind := language(path, languages)):
                    found.append((_CRATE.sub("", path), kind, file.read()))
    except (tarfile.TarError, EOFError, OSError, lzma.LZMAError) as error:
        return Package(SOURCE, name, version, problem=f"unreadable archive: {error}")
    files = [File(path, kind, copyright.licence(path), data) for path, kind, data in found]
    return Package(SOURCE, name, version, files)
