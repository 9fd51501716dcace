"""Reads published archives."""

import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO

_AR_HEADER = 60


def read(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield each regular file of an archive, with its path below the archive's top folder. Read a file before asking
    for the next.
    """
    stream = BytesIO(_data(path.read_bytes()) if path.suffix == ".deb" else path.read_bytes())
    with tarfile.open(fileobj=stream, mode="r:*") as archive:
        for member in archive:
            if member.isfile() and (file := archive.extractfile(member)):
                yield member.name.removeprefix("./").partition("/")[2], file


def _data(package: bytes) -> bytes:
    """Return the tar archive of a Debian package's files, a member of its `ar` archive, whose members start at even
    offsets.
    """
    start = len(b"!<arch>\n")
    while start + _AR_HEADER <= len(package):
        header = package[start : start + _AR_HEADER]
        start += _AR_HEADER
        size = int(header[48:58])
        if header.startswith(b"data.tar"):
            return package[start : start + size]
        start += size + size % 2
    raise tarfile.ReadError("no files in the package")
