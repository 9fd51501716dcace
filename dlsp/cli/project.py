"""The settings for one file as an editor has them, without the editor's own: the project's, under given options."""

import sys
from pathlib import Path

from dlsp.context.workspace import around
from dlsp.models.sizing import named
from dlsp.settings.layers import SettingsLayers
from dlsp.settings.schema import Settings


def settings(file: Path, model: str | None = None, mode: str | None = None) -> Settings:
    """What `[tool.dlsp]` of the file's workspace says, where an option does not; what is wrong there goes to stderr.

    UserError for a `model` that is not known.
    """
    if model:
        named(model)
    layers = SettingsLayers(lambda complaint: print(f"dlsp: {complaint}", file=sys.stderr))
    layers.set_initial({"model": model, "mode": mode})
    return layers.of(around(file).root)
