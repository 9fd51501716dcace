"""Fixtures of all suites: a tiny random model for decoding, the real one where a test is marked `model`."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dlsp_engine import Engine

# Triton's kernels run in its interpreter, on any machine. It is asked before they are imported.
os.environ.setdefault("TRITON_INTERPRET", "1")

# Engines that tests start have nothing prefilled, whatever was asked before, and save no prompts.
os.environ["DLSP_PROMPT_CACHE_MB"] = "0"

# PyTorch is imported in the fixtures that need it: most suites do not.


@pytest.fixture
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty state folder, the one that dlsp and its subprocesses use."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("DLSP_STATE_DIR", str(folder))
    return folder


@pytest.fixture(autouse=True)
def umask_after() -> Iterator[None]:
    """Files are made with the same modes after the test as before."""
    os.umask(before := os.umask(0o022))
    yield
    os.umask(before)


@pytest.fixture
def threads_after() -> Iterator[None]:
    """PyTorch has as many threads after the test as before."""
    import torch

    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def one_thread(threads_after: None) -> None:
    """The matrices of tiny models are too small to share out."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture
def tiny(tiny_engine: "Engine", one_thread: None) -> "Engine":
    """A model that has learned nothing, with an adapter that disturbs every canvas row."""
    return tiny_engine


@pytest.fixture(scope="session")
def tiny_engine() -> "Engine":
    from dlsp_engine import Engine
    from dlsp_engine.model.adapter import Adapter
    from dlsp_engine.model.architecture import Architecture
    from dlsp_engine.model.qwen2 import Qwen2
    from dlsp_engine.model.weights import Weights
    from dlsp_engine.text.tokenizer import ByteTokenizer

    shape = Architecture(layers=2, dim=32, heads=4, kv_heads=2, head_dim=8, ff=48, vocab=262, theta=1e4, eps=1e-6)
    return Engine(Qwen2(Weights.random(shape), Adapter.random(shape)), ByteTokenizer())


@pytest.fixture(scope="session")
def gguf() -> Path:
    """The real 0.5B model's file, which `make test` provisions."""
    from dlsp.models import catalogue, store

    return store.path(catalogue.find("0.5b"))


@pytest.fixture(scope="session")
def real(gguf: Path) -> "Engine":
    """The real model in float32, where identity is claimed."""
    from dlsp import paths
    from dlsp_engine import Engine

    return Engine.load(gguf, paths.cache_dir(), dtype="float32")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `-n`, processes share out files of tests, and whole folders of those with editors, which share an editor."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = PurePosixPath(nodeid.partition("::")[0])
            return str(file.parent if "e2e" in file.parts else file)

    return ByFile(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say last, and in red, which tests did not run because an editor could not be had."""
    reasons = Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and "NOT RUN: " in report.longrepr[2]
    )
    if reasons:
        terminalreporter.section("NOT RUN", red=True, bold=True)
    for reason, count in reasons.items():
        terminalreporter.write_line(f"{count} tests are {reason}", red=True)
