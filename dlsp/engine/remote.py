"""A team's server in the place of the engine: its address, the user's token for it, and the connection to it.

Text goes to a server only if the user has stored a token for exactly its address, outside of every workspace. So a
setting that a workspace brings can name no other server.
"""

import os
import stat
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from dlsp import paths
from dlsp.engine.client import Engine, EngineGone, Unauthorized
from dlsp.engine.state import State
from dlsp.engine.versions import API
from dlsp.errors import UserError

SERVER_VARIABLE, TOKEN_VARIABLE = "DLSP_SERVER", "DLSP_SERVER_TOKEN"
TOKENS_VARIABLE, TOKENS_FILE = "DLSP_SERVER_TOKENS", "server-tokens"
MAX_TOKENS_CHARACTERS = 64_000
KEYRING_SERVICE = "dlsp"
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
ANY_MODEL = "auto"  # the first model that the server has
HEALTH_TIMEOUT_S = 3.0


class ServerAway(UserError):
    """The server cannot be asked now."""


@dataclass(frozen=True)
class Server:
    """A server's address, as `address` returns it, and the name of the model to ask there."""

    url: str
    model: str = ANY_MODEL


@dataclass(frozen=True)
class ServerState(State):
    """What a client needs to reach a server; no state file describes one."""

    on_server: ClassVar[bool] = True

    @property
    def destination(self) -> str:
        return f"the server {urlsplit(self.address).netloc}"


def address(value: object) -> str:
    """The address of a server in one form, without a slash at its end; "" for "". Raises UserError."""
    if value == "":
        return ""
    if not isinstance(value, str) or len(value) > 2000 or not value.isprintable() or " " in value:
        raise UserError("`server` is the address of a team's server: for example https://dlsp.example.org.")
    try:
        parts = urlsplit(value)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise UserError(f"`server` cannot be '{value[:80]}': give https://HOST or https://HOST:PORT.") from None
    if parts.username or parts.password or parts.query or parts.fragment or not host:
        raise UserError(f"`server` cannot be '{value[:80]}': give https://HOST or https://HOST:PORT, and no more.")
    if parts.scheme != "https" and not (parts.scheme == "http" and host in LOOPBACK_HOSTS):
        raise UserError("`server` must begin with https://, so that nobody on the way can read what you write.")
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{name}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


def token(url: str) -> str:
    """The user's token for the server at `url`: from the environment, else the file, else the system's keyring. Blocks;
    raises UserError if there is none."""
    file = tokens_file()
    found = _from_environment(url) or _from_file(file).get(url) or _from_keyring(url)
    if not found:
        raise UserError(
            f"There is no token for {url}: add a line '{url} TOKEN' to {file}, or set {SERVER_VARIABLE} and "
            f"{TOKEN_VARIABLE}, or store it in the system's keyring."
        )
    if not (found.isascii() and found.isprintable()) or " " in found:
        raise UserError(f"The token for {url} has characters that no token has: copy it once more.")
    return found


def known() -> list[str]:
    """The addresses of the servers for which the environment or the file has a token. Raises UserError."""
    own = [url] if (url := environment_url()) and os.environ.get(TOKEN_VARIABLE) else []
    return list(dict.fromkeys([*own, *_from_file(tokens_file())]))


def tokens_file() -> Path:
    """The file with a line `ADDRESS TOKEN` for each server: DLSP_SERVER_TOKENS, else one in the state folder."""
    named = os.environ.get(TOKENS_VARIABLE)
    return Path(named).expanduser() if named else paths.state_dir() / TOKENS_FILE


async def connect(server: Server, token: str) -> Engine:
    """The engine at the server, once it has answered. Raises ServerAway with the reason if it cannot be used."""
    state = ServerState(f"{server.url}/engine/{server.model}", token, "", 0, server.model, "", 0.0)
    engine = Engine(state)
    try:
        health = await engine.health(HEALTH_TIMEOUT_S)
        if health.get("api") != API:
            raise ServerAway(f"The server {server.url} and this dlsp are of different versions: update the older one.")
    except Unauthorized:
        await engine.close()
        raise ServerAway(f"The server {server.url} refuses your token: ask its administrator for another.") from None
    except EngineGone as error:
        await engine.close()
        raise ServerAway(f"The server {server.url} cannot be used: {error.why or 'it does not answer'}.") from None
    except BaseException:
        await engine.close()
        raise
    return engine


def environment_url() -> str:
    """The server that DLSP_SERVER names, "" if it names none or a wrong one."""
    try:
        return address(os.environ.get(SERVER_VARIABLE, ""))
    except UserError:
        return ""


def _from_environment(url: str) -> str:
    return os.environ.get(TOKEN_VARIABLE, "").strip() if environment_url() == url else ""


def _from_file(file: Path) -> dict[str, str]:
    """The tokens by address. Raises UserError if others than the user can read or write the file."""
    try:
        opened = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(opened, encoding="utf-8", errors="replace") as reading:
            found = os.fstat(opened)
            if not stat.S_ISREG(found.st_mode):
                return {}
            if sys.platform != "win32" and (found.st_uid != os.geteuid() or found.st_mode & paths.ALL_BITS):
                raise UserError(f"Others can read or change {file}, which has your tokens: run `chmod 600 {file}`.")
            lines = reading.read(MAX_TOKENS_CHARACTERS).splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UserError(f"{file}, which has your tokens, cannot be read: {error.strerror}.") from error
    return _by_address(lines)


def _by_address(lines: list[str]) -> dict[str, str]:
    tokens: dict[str, str] = {}
    for line in lines:
        match line.split():
            case [url, token] if not url.startswith("#"):
                try:
                    tokens[address(url)] = token
                except UserError:
                    continue
            case _:
                continue
    return tokens


def _from_keyring(url: str) -> str:
    """The token that the system's keyring has for `url`, "" without one or without the library `keyring`."""
    try:
        keyring: Any = import_module("keyring")  # of the extra `keyring`
        return str(keyring.get_password(KEYRING_SERVICE, url) or "")
    except Exception:  # the library raises its own errors and those of each system's keyring
        return ""
