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
    "prometheus_client",
    "jinja2",
    "llguidance",
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
    links = f"--find-links {shlex.quote(str(wheels))} " if wheels else ""
    return f'{_installer(Path(prefix))} {links}"dlsp[local]"'


def cpu_torch_command(prefix: str = sys.prefix) -> str:
    """The command that installs the CPU build of PyTorch, which `install_command` then keeps; empty where the usual
    build is that one, or where the tool that created the installation would replace it.
    """
    installer = _installer(Path(prefix))
    if sys.platform != "linux" or "--force" in installer:
        return ""
    return f"{installer} torch --index-url https://download.pytorch.org/whl/cpu"


def _installer(prefix: Path) -> str:
    parts = prefix.parts
    if "uv" in parts and "tools" in parts:
        return "uv tool install --force"
    if "pipx" in parts:  # unlike `pipx install --force`, it leaves a PyTorch that is installed as it is
        return f"pipx runpip {prefix.name} install"
    if sys.prefix == sys.base_prefix:
        return "pipx install --force"
    return f"{prefix / ('Scripts/python.exe' if sys.platform == 'win32' else 'bin/python')} -m pip install"


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
