"""dlsp as a contender: the real language server over stdio, the real engine behind it."""

import asyncio
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types

from bench.replay.contender import Place, Shown, Work
from bench.replay.scripts import Script
from bench.replay.tap import Exchange, Tap
from bench.replay.user import first_line
from dlsp.completions.cache import CachedCompletion
from dlsp.syntax import languages
from tests.dlsp.editor import Editor

# Background work begins within so long after an answer, and after one for which no engine was asked, or not at all.
AHEAD_S, WARM_S, LOOK_S = 0.03, 0.2, 0.005


class Dlsp:
    """A contender. Start the server with `ready`; it works on the scripts of the folder `folder` of `root`."""

    def __init__(
        self, tap: Tap, root: Path, folder: str, options: dict[str, Any], how: Mapping[str, str] | None = None
    ) -> None:
        """`how` are options of `serve`."""
        self.quiet = ""
        self._tap, self._root, self._folder = tap, root / (folder or "alone"), folder
        self._editor = Editor(self._root if folder else None, encoding="utf-32", options=options)
        if how:
            given = [f"--{name}={value}" for name, value in how.items()]
            self._editor.command = (sys.executable, "-m", "bench.replay.serve", *given)
        self._uri = ""
        self._place = Place("", "")
        self._item: types.InlineCompletionItem | None = None
        self._asked: asyncio.Future[Any] | None = None
        self._begun = self._opened = self._noted = 0

    async def ready(self) -> None:
        await self._editor.__aenter__()
        path = self._root / "begin.txt"
        self._editor.open(path.as_uri(), "")
        await self._editor.ready(path.as_uri())

    async def close(self) -> None:
        await self._editor.__aexit__()

    @property
    def work(self) -> Work:
        """Of the script at hand."""
        made = self._tap.exchanges[self._opened :]
        costs = [each.fill["cost"] for each in made if each.fill]
        computed = sum(cost["prompt_tokens"] - cost["cached_tokens"] for cost in costs)
        return Work(sum(each.forwards for each in made), computed, len(made))

    def now(self) -> float:
        return time.perf_counter()

    async def open(self, script: Script) -> None:
        client = self._editor.client
        if self._uri:
            client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(self._uri)))
        path = self._root / script.path
        if not self._folder:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(script.text, encoding="utf-8")
        self._uri, self._place = path.as_uri(), Place("", script.text)
        self._item, self._opened = None, len(self._tap.exchanges)
        language = languages.of(path)
        self._editor.versions[self._uri] = 1
        item = types.TextDocumentItem(self._uri, language.name if language else "plaintext", 1, script.text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    async def act(self, place: Place) -> None:
        if place.key == "accept":
            self._tell_accepted(place.typed)
        if place.key != "move":
            self._change(place)
        self._place, self._item, self.quiet = place, None, ""
        self._begun, self._noted = len(self._tap.exchanges), len(self._editor.answers)
        here = _position(place.before)
        self._asked = self._editor.ask(self._uri, here.line, here.character)
        # One that a newer one overtakes fails, and nobody waits for it any more.
        self._asked.add_done_callback(lambda asked: asked.cancelled() or asked.exception())

    async def wait(self, seconds: float | None) -> Shown | None:
        assert self._asked is not None
        done, _ = await asyncio.wait([self._asked], timeout=seconds)
        if not done:
            return None
        items = self._asked.result().items
        told = self._answered()
        if not items:
            self.quiet = told.get("message") or "no reason"
            return Shown("", memory=False, facts=self._facts())
        self._item = items[0]
        self._notify("textDocument/didShowCompletion", {"item": _raw(items[0])})
        text = self._left(items[0])
        return Shown(text, memory=told["decision"]["memory"], facts=self._facts() | {"tokens": self._tokens(text)})

    async def rest(self, seconds: float) -> None:
        idle = time.perf_counter()
        until = idle + seconds
        longest = WARM_S if self.quiet and len(self._tap.exchanges) == self._begun else AHEAD_S
        while (now := time.perf_counter()) < until and now - idle < longest:
            if self._tap.busy:
                idle = now
            await asyncio.sleep(min(LOOK_S, until - now))

    def _answer(self) -> Exchange | None:
        """What the engine answered to the request of this place; None where it was not asked, or not yet done."""
        made = [each for each in self._tap.exchanges[self._begun :] if each.fill and each.priority == "typing"]
        return made[-1] if made else None

    def _facts(self) -> dict[str, Any]:
        answer = self._answer()
        fill = answer.fill if answer else None
        said = {name: value for name, value in fill.items() if name not in ("event", "gap")} if fill else {}
        after = self._place.closers + self._place.after
        line = [self._place.before.rpartition("\n")[2], after.partition("\n")[0]]
        return said | {"decision": self._answered().get("decision", {}), "line": line}

    def _tokens(self, text: str) -> list[tuple[int, float]]:
        """Those that wrote the first line of what is shown, by the newest answer that has it; none where none has."""
        line = first_line(text)
        for each in reversed(self._tap.exchanges[self._opened :]):
            if each.fill and (at := each.fill["text"].find(line)) >= 0:
                return list(CachedCompletion(0, "", "", 0, confidence=each.fill.get("confidence", ())).tokens(at))
        return []

    def _answered(self) -> dict[str, Any]:
        """What the server told of the question of this place; {} where it did not, or an edit came first."""
        told = [each for each in self._editor.answers[self._noted :] if each["skip"] != "stale"]
        return told[-1] if told else {}

    def _left(self, item: types.InlineCompletionItem) -> str:
        """What of an item comes after the cursor; its range may begin before that.

        What it ends with, and replaces behind the cursor, is left out, but for what the editor has put there itself.
        """
        assert isinstance(item.insert_text, str)
        assert item.range
        here = _position(self._place.before)
        text = item.insert_text[here.character - item.range.start.character :]
        replaced = item.range.end.character - here.character - len(self._place.closers)
        return text.removesuffix(self._place.after[: max(0, replaced)])

    def _change(self, place: Place) -> None:
        known = place.before[: len(place.before) - len(place.typed)]
        old, new = self._place.before[len(known) :] + self._place.closers, place.typed + place.closers
        while old and new and old[-1] == new[-1]:
            old, new = old[:-1], new[:-1]
        if not old and not new:  # a closer was typed over
            return
        start, end = _position(known), _position(known + old)
        self._editor.versions[self._uri] += 1
        self._editor.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self._editor.versions[self._uri], self._uri),
                [types.TextDocumentContentChangePartial(types.Range(start, end), new)],
            )
        )

    def _tell_accepted(self, text: str) -> None:
        if self._item is None:
            return
        if text == self._left(self._item) and (command := self._item.command):
            params = types.ExecuteCommandParams(command.command, command.arguments)
            self._editor.client.protocol.send_request_async(types.WORKSPACE_EXECUTE_COMMAND, params)
        length = len(text.encode("utf-16-le")) // 2
        told = {"item": _raw(self._item), "acceptedLength": length}
        self._notify("textDocument/didPartiallyAcceptCompletion", told)

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self._editor.client.protocol.notify(method, params)


def _position(before: str) -> types.Position:
    return types.Position(before.count("\n"), len(before) - before.rfind("\n") - 1)


def _raw(item: types.InlineCompletionItem) -> dict[str, Any]:
    return {"insertText": item.insert_text}
