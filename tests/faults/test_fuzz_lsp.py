"""Messages that no editor should send: each request is answered; nothing crashes, hangs or shows a traceback."""

import asyncio
import json
import logging
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pygls.io_ import run_async

from dlsp import logfile
from dlsp.engine import launch
from dlsp.errors import UserError
from dlsp.server.app import App, build
from tests.faults.mutation import bent, damaged, encoded

URI = "file:///p/a.py"
HERE = {"line": 1, "character": 4}
TEXT = "def f():\r\n    x = 1\n    # é😋\n"
# How much of the processor one input may take, and after how long it hangs, also on a busy machine.
WORK_S, HANG_S = 5.0, 120.0


def seeds() -> list[dict[str, Any]]:
    document = {"uri": URI, "version": 2}
    typed = {"range": {"start": HERE, "end": HERE}, "text": "y"}
    cell = {"uri": "vscode-notebook-cell:/p/n#A", "languageId": "python", "version": 1, "text": "x"}
    book = {"uri": "file:///p/n.ipynb", "notebookType": "j", "version": 1}
    book["cells"] = [{"kind": 2, "document": cell["uri"]}]
    change = {"cells": {"textContent": [{"document": {"uri": cell["uri"], "version": 2}, "changes": [typed]}]}}
    notifications = {
        "textDocument/didOpen": {"textDocument": {"uri": URI, "languageId": "python", "version": 1, "text": TEXT}},
        "textDocument/didChange": {"textDocument": document, "contentChanges": [typed, {"text": TEXT}]},
        "textDocument/didClose": {"textDocument": {"uri": URI}},
        "notebookDocument/didOpen": {"notebookDocument": book, "cellTextDocuments": [cell]},
        "notebookDocument/didChange": {"notebookDocument": {"uri": book["uri"], "version": 2}, "change": change},
        "notebookDocument/didClose": {"notebookDocument": {"uri": book["uri"]}, "cellTextDocuments": [{"uri": "a"}]},
        "workspace/didChangeConfiguration": {"settings": {"dlsp": {"mode": "verified", "model": "0.5b"}}},
        "workspace/didChangeWorkspaceFolders": {"event": {"added": [{"uri": "file:///p", "name": "p"}], "removed": []}},
        "$/cancelRequest": {"id": 7},
        "textDocument/didShowCompletion": {"item": {"command": {"command": "x", "arguments": ["u"]}}},
        "$/setTrace": {"value": "off"},
        "window/workDoneProgress/cancel": {"token": "t"},
    }
    panel = {"doc": {"uri": URI, "version": 2, "position": HERE}, "panelId": "p"}
    requests = {
        "getCompletions": panel,
        "getPanelCompletions": panel,
        "textDocument/copilotPanelCompletion": {"textDocument": {"uri": URI}, "position": HERE},
        "notifyAccepted": {"uuid": "u", "acceptedLength": 1},
        "notifyRejected": {"uuids": ["u"]},
        "textDocument/inlineCompletion": {
            "textDocument": {"uri": URI},
            "position": HERE,
            "context": {"triggerKind": 2, "selectedCompletionInfo": {"range": typed["range"], "text": "x"}},
        },
        "workspace/executeCommand": {"command": "x", "arguments": [1]},
        "initialize": {"capabilities": {}, "initializationOptions": {"mode": "verified"}},
        "no/such": {"a": 1},
    }
    made = [{"jsonrpc": "2.0", "method": method, "params": params} for method, params in notifications.items()]
    made += [{"jsonrpc": "2.0", "id": 7, "method": method, "params": params} for method, params in requests.items()]
    return [*made, made[-4], made[-4], {"jsonrpc": "2.0", "id": 7, "result": None}]


# Messages that may be in the making.
MOST_KEPT = 100


class Pipe:
    """The editor's end of the connection: what it sends, and the answers by id."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[bytes] = asyncio.Queue()
        self.answers: list[dict[str, Any]] = []
        self.told = b""

    async def readline(self) -> bytes:
        return await self.lines.get()

    async def readexactly(self, number: int) -> bytes:
        return await self.lines.get()

    def send(self, body: bytes) -> None:
        for line in (b"Content-Length: %d\r\n" % len(body), b"\r\n", body):
            if line:  # an empty one would be the end of the pipe
                self.lines.put_nowait(line)

    def write(self, content: bytes) -> None:
        body = content.partition(b"\r\n\r\n")[2]
        message = json.loads(body)
        assert "Traceback" not in body.decode()
        if "method" not in message:
            self.answers.append(message)

    def close(self) -> None:
        self.lines.put_nowait(b"")


async def serve(pipe: Pipe) -> tuple[App, "asyncio.Task[None]"]:
    app = build()
    server = app.server
    server.protocol.set_writer(pipe)  # type: ignore[arg-type]
    running = run_async(threading.Event(), pipe, server.protocol, error_handler=server.report_server_error)  # type: ignore[arg-type]
    task = asyncio.create_task(running)
    pipe.send(encoded({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}}}))
    await answered(pipe, 0)
    return app, task


async def answered(pipe: Pipe, id: Any, before: int = 0) -> dict[str, Any]:
    """The answer to `id` among those after the first `before`."""
    async with asyncio.timeout(HANG_S):
        while True:
            for answer in pipe.answers[before:]:
                if answer["id"] == id:
                    return answer
            await asyncio.sleep(0)


async def fuzz(inputs: int, seed: int) -> float:
    """The most that one input took of the processor, in seconds."""
    rng = random.Random(seed)
    pipe = Pipe()
    app, task = await serve(pipe)
    server = app.server
    given = seeds()
    longest = 0.0
    for number in range(inputs):
        message = bent(rng, rng.choice(given))
        if isinstance(message, dict) and message.get("method") in ("exit", "shutdown"):
            continue
        if isinstance(message, dict) and message.get("id") == 7:
            message["id"] = f"request {number}"  # which no other one has
        raw = rng.random() < 0.2
        body = damaged(rng, encoded(message)) if raw else encoded(message)
        before, began = len(pipe.answers), time.process_time()
        pipe.send(body)
        asks = not raw and isinstance(message, dict) and "id" in message and "method" in message
        if asks:
            known = isinstance(message["id"], str | int) and not isinstance(message["id"], bool)
            await answered(pipe, message["id"] if known else None, before)
        else:
            async with asyncio.timeout(HANG_S):
                while not pipe.lines.empty():
                    await asyncio.sleep(0)
        longest = max(longest, time.process_time() - began)
        assert not task.done(), body[:500]
        if number % 1000 == 999:
            await still_serves(pipe, number)
            server.workspace.text_documents.clear()
            assert len(server.protocol._request_futures) < MOST_KEPT, "what was handled is not let go"
    pipe.close()
    await asyncio.wait_for(task, HANG_S)
    await app.close()
    return longest


async def still_serves(pipe: Pipe, number: int) -> None:
    uri = f"file:///p/check{number}.py"
    opened = {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": TEXT}}
    pipe.send(encoded({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": opened}))
    asked = {"textDocument": {"uri": uri}, "position": HERE, "context": {"triggerKind": 1}}
    before = len(pipe.answers)
    message = {"jsonrpc": "2.0", "id": f"check{number}", "method": "textDocument/inlineCompletion", "params": asked}
    pipe.send(encoded(message))
    answer = await answered(pipe, f"check{number}", before)
    assert answer["result"] == {"items": []}
    pipe.answers.clear()


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch, state_folder: object) -> Iterator[None]:
    """A server as it is run, with its log, but without an engine to be had."""

    async def none(*_: object) -> Any:
        raise UserError("There is no engine in this test.")

    monkeypatch.setattr(launch, "connect", none)
    loggers = logging.getLogger("dlsp"), logging.getLogger("pygls")
    levels = [logger.level for logger in loggers]
    logfile.begin()
    yield
    loggers[0].propagate = True
    for handler in loggers[0].handlers[:]:
        loggers[0].removeHandler(handler)
        handler.close()
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


async def test_messages(capfd: pytest.CaptureFixture[str]) -> None:
    await fuzz(3_000, seed=1)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.prove
@pytest.mark.timeout(3600)
async def test_a_hundred_thousand_messages(capfd: pytest.CaptureFixture[str]) -> None:
    longest = await fuzz(100_000, seed=2)
    assert longest < WORK_S
    assert "Traceback" not in capfd.readouterr().err
