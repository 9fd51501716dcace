"""The dlsp process is light: nothing in it imports torch, nor the engine, which does, nor Ray, which a team has."""

import subprocess
import sys

EVERYTHING = """
import importlib, pkgutil, sys
import dlsp
for module in pkgutil.walk_packages(dlsp.__path__, "dlsp."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
heavy = {"torch", "transformers", "dlsp_engine", "dlsp_kernels", "ray", "yaml"} & set(sys.modules)
sys.exit(f"imported: {heavy}" if heavy else 0)
"""


def test_nothing_imports_torch() -> None:
    done = subprocess.run([sys.executable, "-c", EVERYTHING], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
