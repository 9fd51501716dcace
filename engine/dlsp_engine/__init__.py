"""The resident engine: fills gaps in code with a Qwen2-family model that drafts tokens by diffusion and verifies them
with the same weights.

Names are imported on first use: importing PyTorch takes a second, and not every importer needs it.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# PyTorch's OpenMP runtime and oneDNN read these when they are loaded, so they must be set before.
# GOMP_SPINCOUNT: threads that wait for each other spin for a moment and then sleep. Without spinning a step is 1.4
# times slower on a quiet machine; with endless spinning it is several times slower on a busy one.
# ONEDNN_PRIMITIVE_CACHE_CAPACITY: oneDNN caches a kernel of half a MB for every number of rows that it has seen. A
# prompt's last chunk may have any number of rows, so it would cache hundreds; steps need some thirty.
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
