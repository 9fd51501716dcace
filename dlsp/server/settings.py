"""What an editor may set, in `initializationOptions`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dlsp.errors import UserError
from dlsp.models.catalogue import DEFAULT, Model, find
from dlsp.suggest import MODES


@dataclass(frozen=True)
class Settings:
    model: Model = DEFAULT
    mode: str = "verified"


def read(options: Any) -> tuple[Settings, list[str]]:
    """Settings from what the editor sent, and a sentence for each value that could not be used."""
    options = options if isinstance(options, Mapping) else {}
    settings, complaints = Settings(), []
    model, mode = options.get("model", settings.model.name), options.get("mode", settings.mode)
    try:
        settings = Settings(model=find(str(model)))
    except UserError as error:
        complaints.append(str(error))
    if mode in MODES:
        settings = Settings(settings.model, mode)
    else:
        complaints.append(f"There is no mode '{mode}': use one of {', '.join(MODES)}.")
    return settings, complaints
