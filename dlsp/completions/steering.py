"""What suggestions are steered to, where the user wants it: known names, and balanced code."""

import builtins
import re
import sys
from collections.abc import Iterable
from functools import cache
from itertools import chain, islice
from typing import Any

from dlsp.context.parts import Context

# The engine's limit.
MAX_NAMES = 5000
_NAME = re.compile(r"[^\W\d][\w$]{0,199}")
_IMPORTED = re.compile(r"^[ \t]*(?:import|from)[ \t]+([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*)", re.MULTILINE)
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
    """The names that stand in what the model sees, its own file first; in Python those of built-in types, too; those
    that the context has as defined.
    """
    window = of_text("\n".join(context.window), path)
    texts = (file["text"] for file in context.files)
    others = chain.from_iterable(_NAME.findall(text) for text in texts)
    built_in = _built_in() if path.endswith(_PYTHON) else ()
    return list(islice(dict.fromkeys(chain(built_in, window, others, context.defined)), MAX_NAMES))


def of_text(text: str, path: str) -> list[str]:
    """The names that stand in a file's text; in Python those of the modules of its standard library that the text
    imports, too, if this process has them.
    """
    names = _NAME.findall(text)
    if path.endswith(_PYTHON):
        modules = _IMPORTED.findall(text)
        names += chain.from_iterable(_members(name.strip()) for row in modules for name in row.split(","))
    return list(dict.fromkeys(names))


@cache
def _members(module: str) -> Iterable[str]:
    """The names of a module of the standard library and of its classes. Nothing is imported for it: a workspace may
    hold a file of the same name.
    """
    if module.partition(".")[0] not in sys.stdlib_module_names or module not in sys.modules:
        return ()
    found = vars(sys.modules[module])
    classes = (each for name, each in found.items() if isinstance(each, type) and not name.startswith("_"))
    return tuple(dict.fromkeys(chain(found, *(dir(each) for each in classes))))


@cache
def _built_in() -> Iterable[str]:
    return tuple(dict.fromkeys(chain(dir(builtins), *(dir(each) for each in _TYPES))))
