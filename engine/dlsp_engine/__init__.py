"""The resident engine: a Qwen2-family model that denoises gaps and checks them by the same weights."""

from dlsp_engine.decode.answer import Cost
from dlsp_engine.engine import Engine, Fill
from dlsp_engine.errors import EngineError
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import File, Gap

__all__ = ["Cost", "Engine", "EngineError", "File", "Fill", "Gap", "Options"]
