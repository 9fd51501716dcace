"""The edit formats by their names."""

from collections.abc import Collection

from dlsp_engine.errors import EngineError
from dlsp_engine.text.edit_formats.own import OWN, EditFormat
from dlsp_engine.text.edit_formats.sweep import Sweep
from dlsp_engine.text.edit_formats.zeta import Zeta2, Zeta21
from dlsp_engine.text.edit_formats.zeta1 import Zeta1

FORMATS = {each.name: each for each in (OWN, Sweep(), Zeta1(), Zeta2(), Zeta21())}


def checked(name: str, tokens: Collection[str]) -> EditFormat:
    """The format of this name, or dlsp's own if it is empty, for a vocabulary with these `tokens`. Raises EngineError
    if there is no such format, or if the vocabulary lacks what it needs.
    """
    if name and name not in FORMATS:
        raise EngineError(f"There is no edit format '{name}': there are {', '.join(FORMATS)}.")
    found = FORMATS[name or OWN.name]
    if lacking := [token for token in found.demanded if token not in tokens]:
        raise EngineError(
            f"This model cannot write edits in the format '{found.name}', since its vocabulary has no token "
            f"{' or '.join(lacking)}: add it with `--edit-format none`, or with the format that it was trained in."
        )
    return found
