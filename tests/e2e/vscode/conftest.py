"""VS Code with the packaged extension and the real server: on a stub engine for manners, on the real one otherwise."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.provide import Missing
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.provide import Editor, editor, vsix
from tests.e2e.vscode.settings import CLEAR


@pytest.fixture(scope="session")
def programs() -> tuple[Editor, Path]:
    """VS Code and the extension; the tests count as not run where they cannot be had."""
    try:
        return editor(), vsix()
    except Missing as why:
        pytest.skip(f"NOT RUN: no VS Code here. {why}")


@pytest.fixture(scope="session")
def stubbed(
    programs: tuple[Editor, Path], stub: StubEngine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Code]:
    """A VS Code for many tests, on the stub engine."""
    folder = tmp_path_factory.mktemp("vscode")
    project = folder / "the próject"
    project.mkdir()
    with Code(*programs, folder, project, stub.file.parent) as code:
        code.open("x = 1\n")
        code.until(lambda: code.status()[0] == "sparkle", "no key will be lost", 120)
        yield code


@pytest.fixture
def code(stubbed: Code, stub: StubEngine) -> Iterator[Code]:
    """On an empty Python file, with an engine that answers what `stub.answer` says."""
    stub.reset()
    stubbed.press("Escape", CLEAR)
    stubbed.open("")
    yield stubbed
    stubbed.text()
    assert stubbed.notifications() == []


@pytest.fixture(scope="session")
def real(programs: tuple[Editor, Path], engine: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Code]:
    """A VS Code for many tests, on the real engine."""
    folder = tmp_path_factory.mktemp("real")
    (folder / "project").mkdir()
    with Code(*programs, folder, folder / "project", engine) as code:
        code.open("x = 1\n")
        code.until(lambda: code.status()[0] == "sparkle", "the engine is ready", 180)
        yield code
