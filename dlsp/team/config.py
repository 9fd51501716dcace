"""The configuration of a team's server: a YAML file in, checked values out."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from dlsp.errors import UserError
from dlsp.models.catalogue import CATALOGUE, find

PORT = 8788
MAX_CONFIG_BYTES = 1_000_000
MAX_REPLICAS = 1000
NOT_INSTALLED = 'This installation cannot serve a team: install it with `pip install "dlsp[team]"`.'


@dataclass(frozen=True)
class ServedModel:
    """One model and its replicas. Each replica has an engine of its own, with `threads` threads on a CPU, or `gpus`
    GPUs (a part of one below 1). Replicas are added while each has more than `ongoing` requests at once."""

    name: str
    min_replicas: int = 1
    max_replicas: int = 1
    ongoing: int = 8
    threads: int = 1
    gpus: float = 0.0


@dataclass(frozen=True)
class Limits:
    """What one user may ask: requests at once, requests in a minute, and bytes of one request."""

    ongoing: int = 8
    requests_per_minute: int = 1200
    request_bytes: int = 250_000


@dataclass(frozen=True)
class Tls:
    """The files of the server's certificate and its key, in PEM."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Config:
    """A team's server: where it listens, what it serves, to whom. `tokens` is the file of users' tokens, `audit` that
    of the audit lines, if they are wanted. `behind_proxy` says that a proxy before the server does TLS."""

    models: tuple[ServedModel, ...]
    tokens: Path
    host: str = "127.0.0.1"
    port: int = PORT
    tls: Tls | None = None
    behind_proxy: bool = False
    limits: Limits = Limits()
    audit: Path | None = None


def load(file: Path) -> Config:
    """The configuration in `file`; relative paths in it start at its folder. Raises UserError for the first mistake,
    in a sentence that names the field and what it takes."""
    try:
        import yaml
    except ImportError:
        raise UserError(NOT_INSTALLED) from None
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_CONFIG_BYTES + 1)
        if len(content) > MAX_CONFIG_BYTES:
            raise UserError(f"{file} is larger than {MAX_CONFIG_BYTES // 1000} kB: give a configuration.")
        raw: Any = yaml.safe_load(content.decode("utf-8"))
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise UserError(f"{file} is not UTF-8: save it as UTF-8.") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        raise UserError(f"{file} is not valid YAML{line}: mend it there.") from None
    return read(raw, file.absolute().parent)


def read(raw: Any, folder: Path) -> Config:
    """The configuration that a parsed file describes; relative paths start at `folder`. Raises UserError."""
    fields = _Fields(raw, "", folder)
    models = fields.tables("models")
    limits, tls = fields.table("limits"), fields.table("tls")
    config = Config(
        models=tuple(_model(each) for each in models),
        tokens=fields.path("tokens"),
        host=fields.text("host", Config.host),
        port=fields.integer("port", PORT, 1, 65535),
        tls=tls and Tls(tls.file("certificate"), tls.file("key")),
        behind_proxy=fields.truth("behind_proxy", False),
        limits=_limits(limits) if limits else Limits(),
        audit=fields.optional_path("audit"),
    )
    for each in (fields, tls):
        if each:
            each.end()
    names = [model.name for model in config.models]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"The model {doubled} stands twice in `models`: name each once.")
    if config.host not in ("127.0.0.1", "localhost", "::1") and not config.tls and not config.behind_proxy:
        raise UserError(
            f"On {config.host} text would cross the network unencrypted: give `tls`, or `behind_proxy: true` where a "
            "proxy before the server does TLS."
        )
    return config


def _model(fields: "_Fields") -> ServedModel:
    name = fields.text("name")
    try:
        model = find(name)
    except UserError:
        known = ", ".join(each.short for each in CATALOGUE)
        raise UserError(f"`{fields.where}name` is '{name[:40]}', which is no model: use one of {known}.") from None
    replicas = fields.table("replicas")
    least, most = 1, 1
    if replicas:
        least = replicas.integer("min", 1, 1, MAX_REPLICAS)
        most = replicas.integer("max", least, 1, MAX_REPLICAS)
        replicas.end()
    if least > most:
        raise UserError(f"`{fields.where}replicas` has min {least} above max {most}: exchange them.")
    made = ServedModel(
        model.short,
        least,
        most,
        ongoing=fields.integer("ongoing", ServedModel.ongoing, 1, 256),
        threads=fields.integer("threads", ServedModel.threads, 1, 256),
        gpus=fields.number("gpus", 0.0, 8.0),
    )
    fields.end()
    return made


def _limits(fields: "_Fields") -> Limits:
    made = Limits(
        fields.integer("ongoing", Limits.ongoing, 1, 256),
        fields.integer("requests_per_minute", Limits.requests_per_minute, 1, 1_000_000),
        fields.integer("request_bytes", Limits.request_bytes, 1_000, 8_000_000),
    )
    fields.end()
    return made


class _Fields:
    """A table of the file, whose fields are taken one by one; `end` refuses those that nobody took. `where` is what
    stands before a field's name in a sentence."""

    def __init__(self, raw: Any, where: str, folder: Path) -> None:
        self.where, self._folder = where, folder
        if not isinstance(raw, Mapping):
            what = f"`{where.rstrip('.')}`" if where else "The configuration"
            raise UserError(f"{what} must be a table of names and values.")
        self._raw = {str(name): value for name, value in cast("Mapping[Any, Any]", raw).items()}
        self._taken: set[str] = set()

    def table(self, name: str) -> "_Fields | None":
        value = self._take(name)
        return None if value is None else _Fields(value, f"{self.where}{name}.", self._folder)

    def tables(self, name: str) -> list["_Fields"]:
        value = self._take(name)
        if not isinstance(value, list) or not value:
            raise UserError(f"`{self.where}{name}` must be a list with at least one entry.")
        each = enumerate(cast("list[Any]", value), 1)
        return [_Fields(entry, f"{self.where}{name}[{number}].", self._folder) for number, entry in each]

    def text(self, name: str, default: str | None = None) -> str:
        value = self._take(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not value:
            raise UserError(f"`{self.where}{name}` must be a text, in quotes where it looks like a number.")
        return value

    def path(self, name: str) -> Path:
        return self._folder / Path(self.text(name)).expanduser()

    def optional_path(self, name: str) -> Path | None:
        return None if self._take(name) is None else self.path(name)

    def file(self, name: str) -> Path:
        found = self.path(name)
        if not found.is_file():
            raise UserError(f"`{self.where}{name}` names {found}, which is no file: give the path of a file.")
        return found

    def integer(self, name: str, default: int, low: int, high: int) -> int:
        value = self._take(name)
        value = default if value is None else value
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise UserError(f"`{self.where}{name}` must be a whole number from {low} to {high}.")
        return value

    def number(self, name: str, default: float, high: float) -> float:
        value = self._take(name)
        value = default if value is None else value
        right = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not right or not 0 <= value <= high:
            raise UserError(f"`{self.where}{name}` must be a number from 0 to {high:g}.")
        return float(value)

    def truth(self, name: str, default: bool) -> bool:
        value = self._take(name)
        value = default if value is None else value
        if not isinstance(value, bool):
            raise UserError(f"`{self.where}{name}` must be true or false.")
        return value

    def end(self) -> None:
        """Refuse a field that is not known."""
        if unknown := sorted(self._raw.keys() - self._taken):
            known = ", ".join(sorted(self._taken))
            raise UserError(f"There is no field `{self.where}{unknown[0][:40]}`: use one of {known}.")

    def _take(self, name: str) -> Any:
        self._taken.add(name)
        return self._raw.get(name)
