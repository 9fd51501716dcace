"""The resident engine: a Qwen2-family model that denoises gaps and checks them by the same weights."""

import os

# Threads that wait for each other sleep instead of spinning. Beside a busy editor, spinning makes a step several
# times slower; alone it gains nothing. Read when PyTorch loads its OpenMP runtime, so it must be set before.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from dlsp_engine.decode.answer import Cost
from dlsp_engine.engine import Engine, Fill
from dlsp_engine.errors import EngineError
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import File, Gap

__all__ = ["Cost", "Engine", "EngineError", "File", "Fill", "Gap", "Options"]
