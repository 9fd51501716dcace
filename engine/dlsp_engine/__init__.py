"""The resident engine: a Qwen2-family model that denoises gaps and checks them by the same weights.

Names are imported when they are first used: PyTorch takes a second, and not every part needs it.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Threads that wait for each other sleep instead of spinning. Beside a busy editor, spinning makes a step several
# times slower; alone it gains nothing. Read when PyTorch loads its OpenMP runtime, so it must be set before.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if TYPE_CHECKING:
    from dlsp_engine.decode.answer import Cost
    from dlsp_engine.engine import Engine, Fill
    from dlsp_engine.errors import EngineError
    from dlsp_engine.options import Options
    from dlsp_engine.text.prompt import File, Gap

_HOMES = {
    "Cost": "decode.answer",
    "Engine": "engine",
    "EngineError": "errors",
    "File": "text.prompt",
    "Fill": "engine",
    "Gap": "text.prompt",
    "Options": "options",
}

__all__ = ["Cost", "Engine", "EngineError", "File", "Fill", "Gap", "Options"]


def __getattr__(name: str) -> Any:
    if home := _HOMES.get(name):
        return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
