"""Random sequences (1,000 in `make prove`) of typing, carrying on, undoing, and editing at the wrong moment; no engine.

Nothing outside of the proposed ranges changes, a place holds what it says, and one of an older version is not applied.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.workspace import Workspace

from dlsp.completions.worker import Worker
from dlsp.edits.history.edit import Edit
from dlsp.edits.search.page import Page
from dlsp.server import params as read
from dlsp.server.client import Client as EditorClient
from dlsp.server.documents import Document, Documents
from dlsp.server.features.next_edit.edits import FEATURE, NextEdits
from dlsp.server.features.next_edit.requests import answer
from dlsp.server.protocol import Server
from dlsp.server.session import Session
from dlsp.server.tasks import Tasks
from dlsp.syntax.difference import difference
from tests.dlsp.editor import CODECS, WIDTH

NAMES = ("fee", "late_fee", "rate", "überzug")
LINES = st.sampled_from(
    (
        "def fee(days):",
        "    return late_fee(days) * rate",
        "fee = late_fee",
        "x = fee(1)  # 🙂 fee",
        "überzug = fee + überzug",
        "",
        "late_fee(rate)",
    )
)
WHAT = ("rename", "type", "ask", "apply", "all", "all", "undo", "race", "dismiss")
ENDINGS = st.sampled_from(("\n", "\r\n"))
URI = "file:///project/fees.py"


REQUEST = read.Edits(read.Document(URI))


class Client:
    """An editor's side: the text, its version, what was undone, the places that were answered last."""

    def __init__(self, text: str, encoding: str) -> None:
        self.text, self.version, self.encoding = text, 1, encoding
        self.past: list[str] = []
        self.sites: list[dict[str, Any]] = []
        self.server = Server()
        workspace = Workspace("file:///project", position_encoding=types.PositionEncodingKind(encoding))
        self.server.lsp.keep(Documents(workspace))
        self.server.lsp.client_capabilities = types.ClientCapabilities()
        self.session, self.tasks = Session(self.server, EditorClient(self.server), Worker()), Tasks()
        self.edits = NextEdits(self.session, NoEngines(), self.tasks)  # type: ignore[arg-type]
        self.server.workspace.put_text_document(types.TextDocumentItem(URI, "python", 1, text))
        self.edits.opened(URI)

    def replace(self, start: int, end: int, new: str) -> None:
        span = types.Range(self._position(start), self._position(end))
        self.past.append(self.text)
        self.text = self.text[:start] + new + self.text[end:]
        self._tell(types.TextDocumentContentChangePartial(span, new))

    def undo(self) -> None:
        if self.past:
            self.text = self.past.pop()
            self._tell(types.TextDocumentContentChangeWholeDocument(self.text))

    def _tell(self, change: types.TextDocumentContentChangeEvent) -> None:
        self.version += 1
        self.server.workspace.update_text_document(types.VersionedTextDocumentIdentifier(self.version, URI), change)
        self.edits.changed(URI)
        self.tasks.cancel(FEATURE, URI)
        document = self.session.document(URI)
        assert isinstance(document, Document)
        assert document.source == self.text

    async def ask(self) -> None:
        result = await answer(self.session, self.edits, self.tasks, REQUEST)
        self.sites = [site for site in result["sites"] if site["textDocument"]["uri"] == URI]
        ends = [-1]
        for site in self.sites:
            start, end = self.span(site)
            assert self.text[start:end] == site["oldText"]
            assert site["textDocument"]["version"] == self.version
            assert start >= ends[-1], "two places overlap"
            ends.append(end)
        if found := await self.edits.last(URI):
            start, end = self.span(result["edit"])
            assert self.text[start:end] == result["edit"]["newText"]
            spans = [self.span(site) for site in self.sites]
            for start, end in changed(*found):
                assert not any(start < last and first < end for first, last in spans), "the edit itself is a place"

    def apply(self, site: dict[str, Any]) -> bool:
        """As a client must: not to another version than the site's."""
        if site["textDocument"]["version"] != self.version:
            return False
        start, end = self.span(site)
        assert self.text[start:end] == site["oldText"]
        before, after = self.text[:start], self.text[end:]
        self.replace(start, end, site["newText"])
        assert self.text == before + site["newText"] + after
        return True

    def span(self, site: dict[str, Any]) -> tuple[int, int]:
        return self._offset(site["range"]["start"]), self._offset(site["range"]["end"])

    def _offset(self, place: dict[str, int]) -> int:
        lines = self.text.split("\n")
        line = lines[place["line"]].encode(CODECS[self.encoding])[: place["character"] * WIDTH[self.encoding]]
        return sum(len(each) + 1 for each in lines[: place["line"]]) + len(line.decode(CODECS[self.encoding]))

    def _position(self, offset: int) -> types.Position:
        start = self.text.rfind("\n", 0, offset) + 1
        units = len(self.text[start:offset].encode(CODECS[self.encoding])) // WIDTH[self.encoding]
        return types.Position(self.text.count("\n", 0, offset), units)


def changed(edit: Edit, page: Page) -> Iterator[tuple[int, int]]:
    """What each hunk of the edit changed in the page; between two hunks there may be places."""
    for hunk, (first, last) in zip(edit.hunks, page.edited, strict=True):
        old, new = edit.before[hunk.start : hunk.end], page.lines[first:last]
        start, _, end = difference("".join(old), "".join(new))
        yield page.starts[first] + start, page.starts[first] + end


class NoEngines:
    """There is no engine: what the edit teaches by itself is all there is."""

    is_ready = False

    def connection(self, *_: object) -> "NoEngines":
        return self

    def connect_in_background(self) -> None:
        pass


async def run(client: Client, data: st.DataObject) -> int:
    applied = 0
    for step in range(data.draw(st.integers(2, 9), "steps")):
        what = data.draw(st.sampled_from(WHAT)) if step else "rename"
        if what == "rename":
            name, new = data.draw(st.sampled_from(NAMES)), data.draw(st.sampled_from((*NAMES, "total_fee")))
            places = [at for at in range(len(client.text)) if client.text.startswith(name, at)]
            if places and name != new:
                at = data.draw(st.sampled_from(places))
                client.replace(at, at + len(name), new)
        elif what == "type":
            at = data.draw(st.integers(0, len(client.text)))
            while client.text[at - 1 : at + 1] == "\r\n":
                at -= 1
            client.replace(at, at, data.draw(st.sampled_from(("x", "\n", "fee", "🙂", "    y = 1\n"))))
        elif what == "ask":
            await client.ask()
        elif what == "apply" and client.sites:
            applied += client.apply(data.draw(st.sampled_from(client.sites)))
        elif what == "all":
            await client.ask()
            for site in reversed(client.sites):  # one change of the document, its ranges from the last to the first
                start, end = client.span(site)
                client.text = client.text[:start] + site["newText"] + client.text[end:]
            applied += len(client.sites)
            client._tell(types.TextDocumentContentChangeWholeDocument(client.text))
            await client.ask()
            assert not client.sites, "what was carried on is offered again"
        elif what == "undo":
            client.undo()
        elif what == "dismiss" and client.sites:
            client.edits.dismissed({client.sites[0]["id"]})
            gone = client.sites[0]["id"]
            await client.ask()
            assert gone not in [site["id"] for site in client.sites]
        elif what == "race":
            asked = asyncio.create_task(answer(client.session, client.edits, client.tasks, REQUEST))
            await asyncio.sleep(0)
            client.replace(0, 0, "#")
            (result,) = await asyncio.gather(asked, return_exceptions=True)
            if isinstance(result, BaseException):
                assert isinstance(result, JsonRpcException)
                assert result.code == types.LSPErrorCodes.ServerCancelled
            else:
                assert all(site["textDocument"]["version"] == client.version for site in result["sites"])
    return applied


SEQUENCES = given(st.lists(LINES, min_size=2, max_size=9), ENDINGS, st.sampled_from(("utf-8", "utf-16")), st.data())


def sequence(lines: list[str], ending: str, encoding: str, data: st.DataObject) -> None:
    client = Client(ending.join(lines) + ending, encoding)
    APPLIED.append(asyncio.run(closed(client, data)))


async def closed(client: Client, data: st.DataObject) -> int:
    try:
        return await run(client, data)
    finally:
        await client.session.close()


APPLIED: list[int] = []
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.prove)])
def test_random_sequences(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, count: int) -> None:
    monkeypatch.setenv("DLSP_STATE_DIR", str(tmp_path))
    APPLIED.clear()
    sample = count == 100  # always the same
    settings(max_examples=count, deadline=None, suppress_health_check=SLOW, derandomize=sample)(SEQUENCES(sequence))()
    assert sum(APPLIED) > count / 20, "too few places were carried on for this to prove anything"


async def test_what_the_user_has_just_written_is_no_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DLSP_STATE_DIR", str(tmp_path))
    client = Client("def fee(days):\n    return late_fee(days) * rate\n", "utf-8")
    at = client.text.index("late_fee")
    client.replace(at, at + len("late_fee"), "fee")
    client.replace(4, 4 + len("fee"), "late_fee")
    await client.ask()
    assert client.sites == []
    await client.session.close()
