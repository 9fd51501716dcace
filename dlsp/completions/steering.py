"""What suggestions are steered to, where the user wants it: known names, and balanced code."""

import builtins
import re
from collections.abc import Iterable
from functools import cache
from itertools import chain, islice
from typing import Any

from dlsp.context.parts import Context

# The engine's limit.
MAX_NAMES = 5000
_NAME = re.compile(r"[^\W\d][\w$]{0,199}")
_PYTHON = ".py"
_TYPES = (str, bytes, int, float, list, tuple, dict, set, BaseException)


def constraint(steer: str, context: Context, path: str) -> dict[str, Any]:
    """The engine's constraint for the value of the setting `steer`; empty if there is none."""
    wanted: dict[str, Any] = {"balanced": True} if steer in ("brackets", "both") else {}
    if by_names(steer) and (names := known(context, path)):
        wanted["identifiers"] = names
    return wanted


def by_names(steer: str) -> bool:
    """Whether this value of the setting needs the names that the workspace defines."""
    return steer in ("names", "both")


def known(context: Context, path: str) -> list[str]:
    """The names that stand in what the model sees, its own file first; those that the workspace defines, if the context
    has them; in Python those of built-in types, too.
    """
    texts = (*context.window, *(file["text"] for file in context.files))
    standing = chain.from_iterable(_NAME.findall(text) for text in texts)
    own = _built_in() if path.endswith(_PYTHON) else ()
    return list(islice(dict.fromkeys(chain(own, standing, context.defined)), MAX_NAMES))


@cache
def _built_in() -> Iterable[str]:
    return tuple(dict.fromkeys(chain(dir(builtins), *(dir(each) for each in _TYPES))))
