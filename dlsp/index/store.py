"""The index on disk: SQLite in WAL mode, one writer, any number of readers, safe against `kill -9`."""

import hashlib
import os
import sqlite3
import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Self

from filelock import FileLock, Timeout

from dlsp.index.symbols import Symbol
from dlsp.paths import index_dir

VERSION = 3
MAX_DATABASE_PAGES = 50_000  # of 4 kB each
MAX_WORKSPACES = 20
# Leftover files of a removed index are deleted after a while, because an index may be about to be created. A step of
# the clock may make them look older than they are, so those whose lock somebody holds are kept, whatever their age.
STALE_FILE_AGE_S = 24 * 3600

_SCHEMA = """
create table files (
    id integer primary key, path text unique not null, family text not null, stem text not null,
    mtime_ns integer not null, size integer not null
);
create index files_stem on files (stem);
create table symbols (
    file integer not null references files (id) on delete cascade,
    name text not null, parent text not null, kind text not null, row integer not null, text text not null
);
create index symbols_name on symbols (name);
create index symbols_file on symbols (file);
"""


class Found(NamedTuple):
    """A symbol and its file, the path relative to the workspace, with `/`."""

    path: str
    symbol: Symbol


def place(root: Path) -> Path:
    """The path of the index of the workspace `root`, whether it exists or not."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:24]
    return index_dir() / f"{name}.sqlite"


class Store:
    """The index in `file`. Methods raise sqlite3.Error if the disk is full or the file was damaged or replaced."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._db = database

    @classmethod
    def open(cls, file: Path) -> Self:
        """Open for writing, creating it if necessary, accessible to its owner only.

        A damaged index, or one of another version, is replaced by an empty one.
        """
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return cls(_opened(file))
        except sqlite3.DatabaseError:
            remove(file)
            return cls(_opened(file))

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """Open for reading; None if there is no index of this version yet."""
        if not file.exists():
            return None
        try:
            # Readers of a WAL database write to its shared memory, so the file is not opened as immutable.
            database = sqlite3.connect(f"{file.as_uri()}?mode=rw", uri=True, timeout=0.02, check_same_thread=False)
            database.execute("pragma query_only = on")
            if database.execute("pragma user_version").fetchone()[0] == VERSION:
                return cls(database)
            database.close()
        except sqlite3.Error:
            pass
        return None

    def close(self) -> None:
        self._db.close()

    def commit(self) -> None:
        self._db.commit()

    def states(self) -> dict[str, tuple[int, int]]:
        """For each file, its modification time (ns) and size when it was read."""
        return {path: (time, size) for path, time, size in self._db.execute("select path, mtime_ns, size from files")}

    def put(self, path: str, family: str, state: tuple[int, int], found: Iterable[Symbol]) -> None:
        """Store the symbols of a file in place of its previous ones."""
        self.drop(path)
        made = self._db.execute(
            "insert into files (path, family, stem, mtime_ns, size) values (?, ?, ?, ?, ?)",
            (path, family, stem(path), *state),
        )
        rows = ((made.lastrowid, *_storable(each)) for each in found)
        self._db.executemany("insert into symbols values (?, ?, ?, ?, ?, ?)", rows)

    def drop(self, path: str) -> None:
        """Remove a file, or all files of a folder."""
        # "0" is the character after "/", so the range covers every path below the folder and can use the index on
        # paths.
        self._db.execute("delete from files where path = ? or path > ? and path < ?", (path, f"{path}/", f"{path}0"))

    def named(self, name: str, family: str, most: int) -> list[Found]:
        """Definitions of a name in files of one language family."""
        return self._found("symbols.name = ? and files.family = ?", (name, family), most)

    def in_file(self, path: str, most: int) -> list[Found]:
        """The top-level definitions of a file, classes included, their members not."""
        return self._found("files.path = ? and symbols.parent = ''", (path,), most)

    def members(self, path: str, parent: str, most: int) -> list[Found]:
        """The members of a class in a file."""
        return self._found("files.path = ? and symbols.parent = ?", (path, parent), most)

    def files(self, stem: str, family: str, most: int = 20) -> list[str]:
        """Paths of files with this stem (see `stem`)."""
        query = "select path from files where stem = ? and family = ? order by path limit ?"
        return [path for (path,) in self._db.execute(query, (stem, family, most))]

    def names(self, family: str) -> Iterator[tuple[str, str]]:
        """The files of a language family, the latest changed first, with each name that they define."""
        query = (
            "select distinct path, name, mtime_ns from symbols join files on files.id = file where family = ? "
            "order by mtime_ns desc, path"
        )
        return ((path, name) for path, name, _ in self._db.execute(query, (family,)))

    def count(self) -> tuple[int, int]:
        """The number of files and of symbols in the index."""
        one = "select (select count(*) from files), (select count(*) from symbols)"
        return self._db.execute(one).fetchone()

    def _found(self, where: str, values: tuple[str, ...], most: int) -> list[Found]:
        # `where` comes from the methods above; values are passed as parameters.
        query = (
            "select files.path, symbols.name, parent, kind, row, text from symbols join files on files.id = file "  # noqa: S608
            f"where {where} order by files.path, row limit ?"
        )
        return [Found(path, Symbol(*symbol)) for path, *symbol in self._db.execute(query, (*values, most))]


@contextmanager
def opened(file: Path) -> Generator[Store, None, None]:
    """`Store.open` as a context; a database found to be damaged while in use is removed, so that it is rebuilt."""
    index = Store.open(file)
    try:
        yield index
    except sqlite3.DatabaseError as error:
        if not isinstance(error, sqlite3.OperationalError):  # a full disk, for example, is no damage
            index.close()
            remove(file)
        raise
    finally:
        index.close()


def module(path: str) -> list[str]:
    """The names by which a file is imported, in lower case: its folders, then its own name up to the first dot.

    `__init__.py` and the like have no name of their own.
    """
    *folders, file = path.lower().split("/")
    name = file.split(".")[0]
    return folders if name in ("__init__", "index", "mod") and folders else [*folders, name]


def stem(path: str) -> str:
    """The last of the names in `module`."""
    return module(path)[-1]


def remove(file: Path) -> None:
    """Delete an index and SQLite's files for it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)


def prune(folder: Path) -> None:
    """Delete all indexes except those of the MAX_WORKSPACES workspaces used last, and stale files without an index."""
    found = sorted(folder.glob("*.sqlite"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in found[MAX_WORKSPACES:]:
        with suppress(OSError):
            remove(file)
    names = {file.stem for file in found[:MAX_WORKSPACES]}
    left: defaultdict[str, list[Path]] = defaultdict(list)
    for file in folder.iterdir():
        if (name := file.name.partition(".")[0]) not in names:
            left[name].append(file)
    for name, files in left.items():
        with suppress(OSError, Timeout):
            stale = [file for file in files if time.time() - file.stat().st_mtime > STALE_FILE_AGE_S]
            if stale:
                with FileLock(folder / f"{name}.lock", timeout=0):
                    for file in stale:
                        file.unlink()


def _opened(file: Path) -> sqlite3.Connection:
    database = sqlite3.connect(file, timeout=5)
    file.chmod(0o600)
    database.execute("pragma journal_mode = wal")
    database.execute("pragma synchronous = normal")
    database.execute("pragma foreign_keys = on")
    database.execute(f"pragma max_page_count = {MAX_DATABASE_PAGES}")
    database.execute("pragma journal_size_limit = 4000000")
    version = database.execute("pragma user_version").fetchone()[0]
    if version == VERSION:
        database.execute("select count(*) from files").fetchone()
        return database
    if version:
        database.close()
        raise sqlite3.DatabaseError("an index of another version")
    database.executescript(f"begin; {_SCHEMA} pragma user_version = {VERSION}; commit;")
    return database


def _storable(symbol: Symbol) -> tuple[str, str, str, int, str]:
    """Replace lone surrogates, which SQLite rejects."""
    return symbol._replace(text=symbol.text.encode("utf-8", "replace").decode())
