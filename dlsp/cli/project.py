"""The settings for one file as an editor has them, without the editor's own: the project's, under given options."""

import sys
from pathlib import Path

from dlsp.context.workspace import around
from dlsp.models.sizing import named
from dlsp.settings.layers import Configuration
from dlsp.settings.schema import Settings


def settings(file: Path, model: str | None = None, mode: str | None = None) -> Settings:
    """What `[tool.dlsp]` of the file's workspace says, where an option does not; what is wrong there goes to stderr.

    UserError for a `model` that is not known.
    """
    if model:
        named(model)
    configuration = Configuration(lambda complaint: print(f"dlsp: {complaint}", file=sys.stderr))
    configuration.begin({"model": model, "mode": mode})
    return configuration.of(around(file).root)
