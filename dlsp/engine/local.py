"""Whether the engine's libraries are installed here, and the command that installs them."""

import importlib.util
import sys
from pathlib import Path

from dlsp.errors import UserError

# The modules of the extra `engine` in pyproject.toml; the light installation has none of them.
MODULES = (
    "torch",
    "tokenizers",
    "safetensors",
    "gguf",
    "numpy",
    "llvmlite",
    "starlette",
    "uvicorn",
    "prometheus_client",
)


class NoLocalEngine(UserError):
    """dlsp was installed without an engine."""

    def __init__(self) -> None:
        super().__init__(f"This installation has no engine: run `{install_command()}`.")


def missing() -> list[str]:
    """The modules that an engine needs and that are not installed."""
    return [name for name in MODULES if importlib.util.find_spec(name) is None]


def require() -> None:
    """Raise NoLocalEngine, whose text says how to install one, if no engine can run in this installation."""
    if missing():
        raise NoLocalEngine


def install_command(prefix: str = sys.prefix) -> str:
    """The command that adds an engine to the installation in `prefix`, for the tool that created it."""
    parts = Path(prefix).parts
    if "uv" in parts and "tools" in parts:
        return 'uv tool install --force "dlsp[local]"'
    if "pipx" in parts or sys.prefix == sys.base_prefix:
        return 'pipx install --force "dlsp[local]"'
    python = Path(prefix) / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    return f'{python} -m pip install "dlsp[local]"'
