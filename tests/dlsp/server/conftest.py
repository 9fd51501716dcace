"""What tests of the server share: a server beside its stub engine, and one whose engine loads as long as is wanted."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from pygls.workspace import Workspace

from dlsp.engine import launch
from dlsp.engine.client import Engine
from dlsp.models.catalogue import Model
from dlsp.server.app import App, build
from dlsp.server.documents import Documents
from tests.dlsp.editor import Editor
from tests.dlsp.stub_engine import StubEngine


@dataclass
class Running:
    """A real server that has found its stub engine, the editor that it serves, and the state folder."""

    editor: Editor
    stub: StubEngine
    folder: Path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> AsyncIterator[Running]:
    """One for all tests of a module, whose `EDITOR` says what is special about the editor."""
    folder = tmp_path_factory.mktemp("state")
    given = getattr(request.module, "EDITOR", {})
    with pytest.MonkeyPatch.context() as patch, StubEngine(folder) as stub:
        patch.setenv("DLSP_STATE_DIR", str(folder))
        async with Editor(Path("/project"), **given) as editor:
            yield Running(editor, stub, folder)


@dataclass
class Loading:
    """A server in this process; `loaded` lets its engine be found, which is looked for once `begun` is set."""

    app: App
    stub: StubEngine
    loaded: asyncio.Event
    begun: asyncio.Event


@pytest_asyncio.fixture
async def loading(monkeypatch: pytest.MonkeyPatch, stub: StubEngine) -> AsyncIterator[Loading]:
    loaded, begun, connect = asyncio.Event(), asyncio.Event(), launch.connect

    async def late(model: Model) -> Engine | None:
        begun.set()
        await loaded.wait()
        return await connect(model)

    monkeypatch.setattr(launch, "connect", late)
    app = build()
    app.server.protocol.notify = lambda *_: None  # type: ignore[method-assign]
    app.server.lsp.keep(Documents(Workspace(None)))
    yield Loading(app, stub, loaded, begun)
    await app.close()
