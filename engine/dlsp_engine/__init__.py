"""The resident engine: a Qwen2-family model that denoises gaps and checks them by the same weights.

Names are imported when they are first used: PyTorch takes a second, and not every part needs it.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Read when PyTorch loads its OpenMP runtime and oneDNN, so they must be set before. Threads that wait for each other
# spin for a moment and then sleep: sleeping at once makes a step 1.4 times slower on a quiet machine,
# spinning on makes it several times slower on a busy one. oneDNN keeps a kernel for every number of rows it has seen,
# half a MB each: a prompt's last chunk has any number of them, so it would keep hundreds; a step needs some thirty.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")

if TYPE_CHECKING:
    from dlsp_engine.decode.answer import Cost, Fill
    from dlsp_engine.engine import Engine
    from dlsp_engine.errors import EngineError
    from dlsp_engine.options import Options
    from dlsp_engine.text.prompt import File, Gap

_HOMES = {
    "Cost": "decode.answer",
    "Engine": "engine",
    "EngineError": "errors",
    "File": "text.prompt",
    "Fill": "decode.answer",
    "Gap": "text.prompt",
    "Options": "options",
}

__all__ = ["Cost", "Engine", "EngineError", "File", "Fill", "Gap", "Options"]


def __getattr__(name: str) -> Any:
    if home := _HOMES.get(name):
        return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
