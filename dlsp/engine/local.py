"""Whether the engine's libraries are installed here, and the command that installs them."""

import importlib.util
import json
import shlex
import sys
from importlib import metadata
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

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


def install_command(prefix: str = sys.prefix, wheels: Path | None = None) -> str:
    """The command that adds an engine to the installation in `prefix`, for the tool that created it. `wheels` is the
    folder of the wheel that dlsp was installed from, if it was installed from a file: the other packages are there too.
    """
    wheels = wheels or _folder_of_wheel()
    options = f"--find-links {shlex.quote(str(wheels))}" if wheels else ""
    parts = Path(prefix).parts
    if "uv" in parts and "tools" in parts:
        return _command("uv tool install --force", options)
    if "pipx" in parts or sys.prefix == sys.base_prefix:
        return _command("pipx install --force", f"--pip-args={shlex.quote(options)}" if wheels else "")
    python = Path(prefix) / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    return _command(f"{python} -m pip install", options)


def _command(install: str, options: str) -> str:
    return " ".join(part for part in (install, options, '"dlsp[local]"') if part)


def _folder_of_wheel() -> Path | None:
    """The folder of the wheel file that dlsp was installed from; None if it came from a package index or a clone."""
    try:
        origin = json.loads(metadata.distribution("dlsp").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return None
    address = urlparse(str(origin.get("url", "")))
    if address.scheme != "file" or "archive_info" not in origin:
        return None
    return Path(url2pathname(address.path)).parent
