"""Neovim 0.10, 0.11 and 0.12 with the real server, most of them on a stub engine, some on the real one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.neovim.neovim import Neovim
from tests.e2e.neovim.provide import VERSIONS, nvim
from tests.e2e.provide import Missing


@pytest.fixture(scope="session", params=VERSIONS)
def program(request: pytest.FixtureRequest) -> Path:
    """A Neovim; its tests count as not run where it cannot be had."""
    try:
        return nvim(request.param)
    except Missing as why:
        pytest.skip(f"NOT RUN: no Neovim {request.param} here. {why}")


@pytest.fixture(scope="session")
def stubbed(program: Path, stub: StubEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    """A Neovim for many tests, on the stub engine."""
    with _running(program, stub.file.parent, tmp_path_factory) as vim:
        yield vim


@pytest.fixture
def manners(stubbed: Neovim, stub: StubEngine, folder: Path) -> Iterator[Neovim]:
    """On an empty Python file, with an engine that answers what `stub.answer` says."""
    stub.reset()
    stubbed.open(folder / "sum.py", "")
    yield stubbed
    assert stubbed.errors() == ""


@pytest.fixture(scope="session")
def real(program: Path, engine: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    """A Neovim for many tests, on the real engine."""
    with _running(program, engine, tmp_path_factory) as vim:
        yield vim


@contextmanager
def _running(program: Path, state: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    folder = tmp_path_factory.mktemp("neovim")
    (folder / ".git").mkdir()
    with Neovim(program, folder / "own", folder / "first.py", state) as vim:
        vim.wait_for_server()
        yield vim
