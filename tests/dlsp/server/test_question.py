"""A question asked while the engine is loading; the others, as an editor asks them, are in `test_server`."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.workspace import Workspace

from dlsp.engine import launch
from dlsp.engine.client import Engine
from dlsp.models.catalogue import Model
from dlsp.models.store import ModelMissing
from dlsp.server import inline, question
from dlsp.server.documents import Documents
from dlsp.server.server import Server
from dlsp.server.status import Status
from tests.dlsp.stub_engine import StubEngine

URI = "file:///project/sum.py"
TEXT = "def add(a, b):\n    return "


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """When the engine can be found."""
    loaded, connect = asyncio.Event(), launch.connect

    async def late(model: Model) -> Engine | None:
        await loaded.wait()
        return await connect(model)

    monkeypatch.setattr(launch, "connect", late)
    return loaded


@pytest_asyncio.fixture
async def server(loaded: asyncio.Event, stub: StubEngine) -> AsyncIterator[Server]:
    """One with `TEXT` open, and no folder."""
    server = Server()
    server.status = Status(lambda method, params: None)
    server.protocol.keep(Documents(Workspace(None)))  # type: ignore[attr-defined]
    server.workspace.put_text_document(types.TextDocumentItem(URI, "python", 1, TEXT))
    yield server
    await server.close()


def ask(server: Server) -> "asyncio.Task[types.InlineCompletionList]":
    context = types.InlineCompletionContext(types.InlineCompletionTriggerKind.Automatic)
    here = types.InlineCompletionParams(context, types.TextDocumentIdentifier(URI), types.Position(1, 11))
    return asyncio.create_task(inline.inline_completion(server, here))


async def settle() -> None:
    await asyncio.sleep(0.05)


async def test_who_rests_gets_the_suggestion(server: Server, loaded: asyncio.Event) -> None:
    asked = ask(server)
    await settle()
    assert not asked.done()
    loaded.set()
    assert [item.insert_text for item in (await asked).items] == ["a + b"]


async def test_who_types_on_is_not_waited_for(server: Server, loaded: asyncio.Event, stub: StubEngine) -> None:
    older = ask(server)
    await settle()
    newer = ask(server)
    assert not (await older).items
    loaded.set()
    assert len((await newer).items) == 1
    assert len(stub.asked) == 1


async def test_no_longer_than_any_other_answer(
    server: Server, loaded: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine goes on loading, for the next key."""
    with monkeypatch.context() as patch:
        patch.setattr(question, "ANSWER_S", 0.05)
        assert not (await ask(server)).items
    assert server.quiet_since() == {"loading": 1}
    loaded.set()
    await settle()
    assert len((await ask(server)).items) == 1


async def test_without_a_model_there_is_nothing_to_wait_for(
    server: Server, loaded: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def missing(model: Model) -> None:
        raise ModelMissing("It is not here", "pull it")

    monkeypatch.setattr(launch, "connect", missing)
    assert not (await asyncio.wait_for(ask(server), 1)).items
    assert server.quiet_since() == {"missing": 1}
