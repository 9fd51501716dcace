"""What all editors are driven against: the real server on a stub engine for manners, on the real one otherwise."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlsp.engine import launch
from dlsp.models.catalogue import DEFAULT
from tests.dlsp.stub_engine import StubEngine


@pytest.fixture(scope="session")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StubEngine]:
    with StubEngine(tmp_path_factory.mktemp("stub")) as stub:
        yield stub


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The state folder of a real engine that all editors share; it is ended after the tests."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DLSP_STATE_DIR", str(folder))
        asyncio.run(_start())
    yield folder
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DLSP_STATE_DIR", str(folder))
        asyncio.run(launch.stop(DEFAULT))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project's folder, with a name that has a space and a letter outside ASCII in it."""
    path = tmp_path / "the próject"
    (path / ".git").mkdir(parents=True)
    return path


async def _start() -> None:
    await (await launch.ensure(DEFAULT)).close()
