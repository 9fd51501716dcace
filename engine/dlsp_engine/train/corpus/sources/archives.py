"""Downloads published archives ahead of the one that is being read, and reads them."""

import tarfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import IO, TypeVar

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


WORKERS = 3
T = TypeVar("T")
R = TypeVar("R")


def ahead(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Yield the results of `work` in the order of the items. Threads work on up to WORKERS items ahead."""
    pool = ThreadPoolExecutor(WORKERS)
    pending: deque[Future[R]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(work, item))
            if len(pending) > WORKERS:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
