"""Which code actions are offered, and what that takes."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.workspace import Workspace

from dlsp.completions.worker import Worker
from dlsp.edits.carry import Offer
from dlsp.edits.history.hunks import Hunk
from dlsp.server.client import Client
from dlsp.server.documents import Documents
from dlsp.server.features.code_actions import KIND, is_wanted
from dlsp.server.features.next_edit.locations import Locations
from dlsp.server.protocol import Server
from dlsp.server.session import Session
from tests.dlsp.editor import Editor
from tests.dlsp.stub_engine import StubEngine

TEXT = "def add(a, b):\n    ...\n"


@pytest.mark.parametrize(
    ("only", "wanted"),
    [
        (None, True),
        ([], True),
        (["refactor"], True),
        (["refactor.rewrite"], True),
        (["quickfix", types.CodeActionKind.Refactor], True),
        ([""], True),
        (["refactor.re"], False),
        (["refactor.rewrite.more"], False),
        (["source.organizeImports"], False),
    ],
)
def test_kinds_are_segments(only: Any, wanted: bool) -> None:
    assert is_wanted(KIND, only) is wanted


async def test_who_asks_for_other_kinds_gets_none(stub: StubEngine, tmp_path: Path) -> None:
    uri = (tmp_path / "sum.py").as_uri()
    async with Editor(tmp_path) as editor:
        editor.open(uri, TEXT)
        await editor.ready(uri)

        async def titles(*only: str) -> list[str]:
            here = types.Range(types.Position(1, 4), types.Position(1, 4))
            context = types.CodeActionContext([], [types.CodeActionKind(each) for each in only] or None)
            params = types.CodeActionParams(types.TextDocumentIdentifier(uri), here, context)
            found = await asyncio.wait_for(editor.client.text_document_code_action_async(params), 30)
            return [each.title for each in found or []]

        assert await titles() == ["Fill function"]
        assert await titles("refactor.rewrite") == ["Fill function"]
        assert await titles("source.organizeImports") == []


async def test_places_in_a_long_document_are_located_by_its_line_starts() -> None:
    """Not by all of its text for each place."""
    text = "".join(f"value_{row} = old_name + {row}\n" for row in range(15_000))
    server = Server()
    server.lsp.keep(Documents(Workspace(None)))
    server.workspace.put_text_document(types.TextDocumentItem("file:///a.py", "python", 1, text))
    session = Session(server, Client(server), Worker())
    lines = text.splitlines(keepends=True)
    rows = range(14_900, 15_000)
    offers = [
        Offer(str(row), "file:///a.py", Hunk(row, row + 1, (lines[row].replace("old", "new"),)), (lines[row],), 1.0)
        for row in rows
    ]
    began = time.thread_time()
    locations = Locations(session)
    first = locations.locate(offers[0])
    once = time.thread_time() - began
    assert first
    assert (first.range.start.line, first.old, first.new) == (14_900, "old_name", "new_name")
    began = time.thread_time()
    assert all(locations.locate(offer) for offer in offers)
    assert time.thread_time() - began < max(once, 0.02), "100 more places take less than what is done once"
    await session.close()
