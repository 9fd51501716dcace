"""Completions that are asked for while the engine is loading."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from lsprotocol import types

from dlsp.completions.observers import Silent
from dlsp.completions.types import Completed, CompletionResult, Cursor, SkipReason
from dlsp.engine import launch
from dlsp.models.catalogue import Model
from dlsp.models.store import ModelMissing
from tests.dlsp.server.conftest import Loading

URI = "file:///project/sum.py"
TEXT = "def add(a, b):\n    return "

Ask = Callable[..., "asyncio.Task[CompletionResult]"]


@pytest.fixture
def ask(loading: Loading) -> Ask:
    """Asks at the end of `TEXT`."""
    app = loading.app
    app.server.workspace.put_text_document(types.TextDocumentItem(URI, "python", 1, TEXT))

    def ask(**more: Any) -> "asyncio.Task[CompletionResult]":
        cursor = app.session.cursor(URI, types.Position(1, 11))
        assert isinstance(cursor, Cursor)
        return asyncio.create_task(app.service.complete(cursor, invoked=False, **more))

    return ask


async def test_who_rests_gets_the_suggestion(loading: Loading, ask: Ask) -> None:
    asked = ask()
    await loading.begun.wait()
    assert not asked.done()
    loading.loaded.set()
    assert (await asked).text == "a + b"


async def test_who_types_on_is_not_waited_for(loading: Loading, ask: Ask) -> None:
    older = ask()
    await loading.begun.wait()
    newer = ask()
    assert (await older).skip is SkipReason.STALE
    loading.loaded.set()
    assert (await newer).text == "a + b"
    assert len(loading.stub.asked) == 1


async def test_no_longer_than_any_other_answer(loading: Loading, ask: Ask) -> None:
    """The engine goes on loading, for the next key."""
    assert (await ask(timeout_s=0.05)).skip is SkipReason.LOADING
    loading.loaded.set()
    assert (await ask()).text == "a + b"
    assert loading.stub.asked[0]["quiet"] == {"loading": 1}


async def test_without_a_model_there_is_nothing_to_wait_for(
    loading: Loading, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def missing(model: Model) -> None:
        raise ModelMissing("It is not here", "pull it")

    monkeypatch.setattr(launch, "connect", missing)
    assert (await asyncio.wait_for(ask(), 10)).skip is SkipReason.MISSING


async def test_an_observer_sees_every_request_once(loading: Loading, ask: Ask) -> None:
    """One that is answered, one that is superseded, and one that the client cancels."""

    class Seen(Silent):
        def __init__(self) -> None:
            self.answered: list[Completed] = []
            self.cancellations = 0

        def completed(self, completed: Completed) -> None:
            self.answered.append(completed)

        def cancelled(self) -> None:
            self.cancellations += 1

    seen = Seen()
    loading.app.service._observers = [seen]
    superseded = ask()
    await loading.begun.wait()
    answered = ask()
    await asyncio.sleep(0)
    loading.loaded.set()
    await asyncio.gather(superseded, answered)
    assert [each.result.skip for each in seen.answered] == [SkipReason.STALE, None]
    assert [bool(each.id) for each in seen.answered] == [False, True]
    loading.stub.hold.set()
    loading.app.service.reset(URI)
    cancelled = ask()
    await asyncio.to_thread(loading.stub.wait_for, lambda it: len(it.asked) > 1)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert seen.cancellations == 1
    assert len(seen.answered) == 2
