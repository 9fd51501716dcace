import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["dlsp_engine", "dlsp_engine.__main__", "dlsp_engine.train.corpus.__main__"])
def test_what_needs_no_torch_does_not_import_it(module: str):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_names_are_there_when_asked_for():
    code = "import dlsp_engine as e; [getattr(e, name) for name in e.__all__]; e.Nope"
    run = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert "has no attribute 'Nope'" in run.stderr


def test_a_gpu_needs_no_llvm():
    modules = "dlsp_engine.engine, dlsp_engine.model.gpu.step, dlsp_engine.train.evaluate"
    code = f"import sys, {modules}; sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_installed_engine_needs_no_library_that_only_a_gpu_or_a_bench_has():
    """Each module of the engine, with these made impossible to import; `dlsp[local]` brings none of them."""
    code = (
        "import importlib, pkgutil, sys\n"
        "for name in ('triton', 'transformers', 'xllamacpp', 'matplotlib', 'pytest', 'playwright'):\n"
        "    sys.modules[name] = None\n"
        "import dlsp_engine\n"
        "for module in pkgutil.walk_packages(dlsp_engine.__path__, 'dlsp_engine.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        importlib.import_module(module.name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
