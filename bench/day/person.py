"""The person: plays a recording on a real language server by way of an editor."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from bench.day.recording import Action, Extra, Key, Open, Pause
from tests.dlsp.editor import Editor

ANSWER_S = 60
# How often a suggestion that is right is taken over, and one that is wrong is said to be dismissed.
ACCEPTED_SHARE, DISMISSED_SHARE = 0.7, 0.5
MODES = ("verified", "autoregressive", "diffusion")

# Lets so many seconds pass while a completion is awaited, if one is.
Wait = Callable[[float, asyncio.Future[Any] | None], Coroutine[Any, Any, None]]


class Person:
    """`counts` are what was done, `lost` what was not answered in ANSWER_S; `coming` is the text to be typed next."""

    def __init__(self, editor: Editor, folder: Path, files: list[Path], wait: Wait, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self.lost: list[str] = []
        self.coming = ""
        self._editor, self._folder, self._files, self._wait = editor, folder, files, wait
        self._rng = random.Random(seed)
        self._uri, self._row, self._column, self._skip = "", 0, 0, 0
        self._asked: set[asyncio.Future[Any]] = set()

    async def play(self, actions: Iterable[Action], after: Callable[[Action], None]) -> None:
        """Do all of it, and wait for what is asked; `after` is called after each action."""
        for action in actions:
            match action:
                case Open():
                    self._open(action)
                case Key():
                    await self._key(action)
                case Extra(what):
                    self.counts[what] += 1
                    await self._extra(what)
                case Pause(seconds):
                    await self._answered()
                    self.counts["pauses"] += 1
                    await self._wait(seconds, None)
            after(action)
        await self._answered()

    def _open(self, action: Open) -> None:
        client = self._editor.client
        if self._uri:
            client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(self._uri)))
        file = self._files[action.file]
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        del lines[action.row : action.row + action.count]
        self._uri, self._row, self._column, self._skip = file.as_uri(), action.row, 0, 0
        self._editor.open(self._uri, "".join(lines))
        self.counts["opened"] += 1

    async def _key(self, key: Key) -> None:
        if self._skip > 0:  # it came with a suggestion that was taken over
            self._skip -= len(key.text)
            return
        self._put(key.text)
        self.coming = key.coming
        self.counts["keys"] += 1
        asked = self._editor.ask(self._uri, self._row, self._column)
        self._asked.add(asked)
        asked.add_done_callback(self._done)
        await self._wait(key.wait_s, asked)
        if asked.done() and not asked.cancelled() and not asked.exception() and (items := asked.result().items):
            self._shown(items[0], key.coming)

    def _shown(self, item: Any, coming: str) -> None:
        self.counts["shown"] += 1
        protocol, said = self._editor.client.protocol, {"item": {"insertText": item.insert_text}}
        protocol.notify("textDocument/didShowCompletion", said)
        # From the start of what the item replaces, which may lie before the cursor.
        text = item.insert_text[max(0, self._column - item.range.start.character) if item.range else 0 :]
        line = text.partition("\n")[0]
        if line.strip() and coming.startswith(line) and self._rng.random() < ACCEPTED_SHARE:
            length = len(line.encode("utf-16-le")) // 2
            protocol.notify("textDocument/didPartiallyAcceptCompletion", said | {"acceptedLength": length})
            self._put(line)
            self._skip = len(line)
            self.counts["accepted"] += 1
        elif self._rng.random() < DISMISSED_SHARE:
            protocol.notify("textDocument/didDismissCompletion", said)
            self.counts["dismissed"] += 1

    def _put(self, text: str) -> None:
        self._editor.type(self._uri, self._row, self._column, text)
        *above, last = text.split("\n")
        width = len(last.encode("utf-16-le")) // 2
        self._row, self._column = self._row + len(above), width if above else self._column + width

    async def _extra(self, what: str) -> None:
        document = {"uri": self._uri}
        here = types.Position(self._row, self._column)
        match what:
            case "fill":
                await self._request("dlsp/fill", {"textDocument": document, "position": _json(here)})
            case "edits":
                await self._request("dlsp/edits", {"textDocument": document})
            case "actions":
                context = types.CodeActionContext([])
                span = types.Range(here, here)
                asked = types.CodeActionParams(types.TextDocumentIdentifier(self._uri), span, context)
                await self._request("textDocument/codeAction", asked)
            case "configure":
                self._editor.configure({"dlsp": {"mode": self._rng.choice(MODES), "ignore": ["*.log"]}})
            case "disk":
                file = self._folder / f"made{self._rng.randrange(20)}.py"
                file.write_text(f"def made_{self._rng.randrange(1000)}(a):\n    return a\n", encoding="utf-8")
            case _:
                folder = types.WorkspaceFolder(self._folder.parent.as_uri(), "above")
                event = types.WorkspaceFoldersChangeEvent
                for change in (event([folder], []), event([], [folder])):
                    params = types.DidChangeWorkspaceFoldersParams(change)
                    self._editor.client.workspace_did_change_workspace_folders(params)

    async def _request(self, method: str, params: Any) -> None:
        """An error is an answer, too: there may be no function to fill."""
        asked = self._editor.client.protocol.send_request_async(method, params)
        try:
            async with asyncio.timeout(ANSWER_S):
                await asked
            self.counts["answered"] += 1
        except JsonRpcException:
            self.counts["refused"] += 1
        except TimeoutError:
            self.lost.append(method)

    def _done(self, asked: asyncio.Future[Any]) -> None:
        self._asked.discard(asked)
        if asked.cancelled():
            self.lost.append("a completion")
            return
        self.counts["refused" if asked.exception() else "answered"] += 1

    async def _answered(self) -> None:
        """Until all that was asked is answered."""
        if self._asked:
            _, left = await asyncio.wait(set(self._asked), timeout=ANSWER_S)
            self.lost += ["a completion"] * len(left)
            self._asked -= left


def _json(position: types.Position) -> dict[str, int]:
    return {"line": position.line, "character": position.character}
