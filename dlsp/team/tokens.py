"""The tokens of a team's users: a file of their hashes, from which no token can be found again."""

import hashlib
import json
import re
import secrets
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from filelock import FileLock, Timeout

from dlsp import atomic, paths
from dlsp.errors import UserError

PREFIX = "dlsp_"  # by which scanners for secrets can know a token
TOKEN_BYTES = 32
LOCK_TIMEOUT_S = 5
USER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


@dataclass(frozen=True)
class Entry:
    """A user's token: `number` names it, `hash` is its SHA-256, `made` in seconds since the epoch."""

    user: str
    number: int
    hash: str
    made: float


def default_file() -> Path:
    """The file that is used where none is named."""
    return paths.state_dir() / "team-tokens.json"


def make(file: Path, user: str) -> str:
    """A new token for `user`, whose hash is added to `file`. A user may have several. Raises UserError."""
    if not USER.fullmatch(user):
        raise UserError(f"'{user[:64]}' is no name of a user: use letters, digits, and . _ @ - between them.")
    token = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    with _locked(file):
        entries = read(file)
        number = 1 + max((each.number for each in entries), default=0)
        _write(file, [*entries, Entry(user, number, hash_of(token), time.time())])
    return token


def revoke(file: Path, user: str, number: int | None = None) -> int:
    """Remove a user's tokens, or the one of them with this number; returns how many. Raises UserError if there is
    none."""
    with _locked(file):
        entries = read(file)
        kept = [each for each in entries if each.user != user or number not in (None, each.number)]
        if len(kept) == len(entries):
            which = f"no token {number}" if number is not None else "no token"
            raise UserError(f"'{user[:64]}' has {which}: `dlsp team token list` shows all.")
        _write(file, kept)
    return len(entries) - len(kept)


def read(file: Path) -> list[Entry]:
    """The entries of the file, none if it does not exist. Raises UserError."""
    try:
        raw: Any = json.loads(file.read_text(encoding="utf-8"))
        return [_entry(each) for each in raw["tokens"]]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(f"The file of tokens {file} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError, KeyError, RecursionError):
        raise UserError(f"{file} is no file of tokens: name another, or remove it and make the tokens anew.") from None


def hash_of(token: str) -> str:
    """A token's SHA-256. A token is random, so that nothing slower is needed."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _entry(raw: Any) -> Entry:
    values = cast("dict[str, Any]", raw)
    return Entry(str(values["user"]), int(values["number"]), str(values["hash"]), float(values["made"]))


def _write(file: Path, entries: list[Entry]) -> None:
    content = json.dumps({"tokens": [asdict(each) for each in entries]}, indent=1)
    try:
        atomic.write(file, content.encode())
    except OSError as error:
        raise UserError(f"The file of tokens {file} cannot be written: {error.strerror}.") from error


@contextmanager
def _locked(file: Path) -> Generator[None]:
    """Hold the lock beside the file, so that two commands lose none of their changes."""
    try:
        with FileLock(file.with_name(f"{file.name}.lock"), timeout=LOCK_TIMEOUT_S):
            yield
    except Timeout:
        raise UserError(f"Another command changes {file}: try again in a moment.") from None
    except OSError as error:
        raise UserError(f"The file of tokens {file} cannot be written: {error.strerror}.") from error
