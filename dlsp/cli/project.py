"""Settings of one file outside an editor: command-line options over the project's `[tool.dlsp]`."""

import sys
from pathlib import Path

from dlsp.context.workspace import around
from dlsp.models.sizing import named
from dlsp.settings.layers import SettingsLayers
from dlsp.settings.schema import Settings


def settings(file: Path, model: str | None = None, mode: str | None = None) -> Settings:
    """Return the settings for `file`; options given here take precedence over `[tool.dlsp]` of its workspace.

    Problems in the project file are printed on stderr. Raises UserError for an unknown `model`.
    """
    if model:
        named(model)
    layers = SettingsLayers(lambda complaint: print(f"dlsp: {complaint}", file=sys.stderr))
    layers.set_initial({"model": model, "mode": mode})
    return layers.of(around(file).root)
