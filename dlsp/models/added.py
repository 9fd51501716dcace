"""Models that the user added: a small record of each in the cache, and beside it the files that dlsp downloaded."""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from dlsp import atomic
from dlsp.errors import UserError
from dlsp.models import catalogue
from dlsp.models.catalogue import NO_MIRROR, Model
from dlsp.paths import cache_dir

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
RESERVED = ("auto",)

# The steps of a single-line gap without a canvas adapter: the tokens of the mean one in HumanEval-Infilling.
LINE_TOKENS = 8.4

FIELDS = ("name", "size", "sha256", "repo", "revision", "family", "parameters", "attention", "fills")
LATER_FIELDS = ("edit_format",)  # that earlier versions did not write


def folder() -> Path:
    """Where the records lie, and for a downloaded model a folder of its name with its files."""
    return cache_dir() / "models" / "added"


def added() -> tuple[Model, ...]:
    """The models that were added, by name. Reads files; a record that cannot be read is passed over."""
    try:
        records = sorted(folder().glob("*.json"))
    except (OSError, UserError):
        return ()
    return tuple(model for record in records if (model := _model(record)))


def every() -> tuple[Model, ...]:
    """All models that can be named: those of the catalogue, then those that were added. Reads files."""
    return (*catalogue.CATALOGUE, *added())


def find(name: str) -> Model:
    """The model with this full name or size ("0.5b"); raises UserError for any other name. Reads files."""
    return catalogue.find(name, added())


def keep(model: Model) -> None:
    """Write the model's record, in place of an earlier one."""
    assert model.path
    folder().mkdir(parents=True, exist_ok=True)
    path = model.path.relative_to(folder()) if model.path.is_relative_to(folder()) else model.path
    content = {name: getattr(model, name) for name in (*FIELDS, *LATER_FIELDS)} | {"path": str(path)}
    atomic.write(folder() / f"{model.name}.json", json.dumps(content, indent=1).encode())


def forget(model: Model) -> None:
    """Remove the model's record."""
    (folder() / f"{model.name}.json").unlink(missing_ok=True)


def usable_name(wanted: str | None, path: str) -> str:
    """The name for a model that is added from `path`: the wanted one, else one made of the path's last part. Raises
    UserError if it is no name, or belongs to a model of the catalogue.
    """
    if wanted is None:
        made = re.sub(r"[^a-z0-9._-]+", "-", path.replace("\\", "/").rpartition("/")[2].lower()).removesuffix(".gguf")
        wanted = made.strip("-._")[:63]
    if not NAME.fullmatch(wanted):
        raise UserError(
            f"'{wanted[:80]}' cannot be a model's name: with --name, pass one of small letters, digits, '.', '_', '-'."
        )
    if wanted in RESERVED or any(wanted in (each.name, each.short) for each in catalogue.CATALOGUE):
        raise UserError(f"'{wanted}' is the name of a model of dlsp's own: pass another with --name.")
    return wanted


def _model(record: Path) -> Model | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        found: dict[str, Any] = json.loads(record.read_text())
        path = folder() / found["path"]  # an absolute one stays what it is
        known = {name: found[name] for name in FIELDS} | {name: found.get(name, "") for name in LATER_FIELDS}
        if found["name"] == record.stem and NAME.fullmatch(record.stem):
            return Model(file=path.name, path=path, mirror=NO_MIRROR, licence="", steps=LINE_TOKENS, **known)
    return None
